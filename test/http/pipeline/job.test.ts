import { expect } from "chai";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";

const app = await startTestApp({ workers: true });
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");

let projects = 0;
async function givenPipelines() {
  projects += 1;
  const project = await app.givenProject(anna, `project${projects}`, { private: true });
  return pipelinesOf(app, anna, project);
}

const file = ".forge-ci.yaml";

describe("a job", () => {
  const manual = `
build: {stage: build, script: x}
release: {stage: test, script: x, when: manual}
deploy: {stage: deploy, script: x, needs: [release]}
`;

  it("waits until a user starts it, as do the jobs that need it", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: manual }, "Add [skip ci]");
    const { localId } = await ci.start();
    const jobs = await ci.jobs(localId);
    const release = `${ci.base}/cicd/job/${jobs[1]!["localId"]}`;
    const early = await app.post(`${release}/play`, { token: ci.token, body: {} });
    expect([early.status, early.body["code"]]).to.deep.equal([422, "job.not_playable"]);
    await ci.run();
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "SUCCESS" }),
    );
    expect(await ci.statuses(localId)).to.include({ release: "MANUAL", deploy: "SKIPPED" });
    const body = { variables: [{ key: "A", value: "b" }] };
    const played = await app.post(`${release}/play`, { token: ci.token, body });
    expect([played.status, played.body["status"]]).to.deep.equal([200, "PENDING"]);
    expect(await ci.run()).to.equal("release");
    expect(await ci.run()).to.equal("deploy");
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "SUCCESS" }),
    );
  });

  it("begins at once when it is restarted, with what it was given and the rights of who restarts it", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: "a: {script: x, when: manual, retry: 1}" }, "Add [skip ci]");
    const invited = { userAlias: bob.alias, role: "DEVELOPER" };
    await app.post(`${ci.base}/member/invite`, { token: ci.token, body: invited });
    const { localId } = await ci.start();
    const [{ localId: job } = {}] = await ci.jobs(localId);
    const at = `${ci.base}/cicd/job/${job}`;
    const body = { variables: [{ key: "A", value: "b" }] };
    await app.post(`${at}/play`, { token: ci.token, body });
    await ci.run("RecordJobFailed");
    const tried = await eventually(async () => {
      const row = await ci.claim();
      expect(row).to.include({ attempt: 2, played_by_id: anna.id });
      return row!;
    });
    await ci.report(tried, "RecordJobStarted");
    await ci.report(tried, "RecordJobSucceeded");
    const again = await app.post(`${at}/restart`, { token: bob.token });
    expect([again.status, again.body["status"]]).to.deep.equal([200, "PENDING"]);
    const row = await ci.claim();
    expect(row).to.include({ attempt: 3, played_by_id: null, reset_by_id: bob.id });
    expect(row?.variables).to.be.a("string");
  });

  it("is passed over when it is canceled and may fail", async () => {
    const ci = await givenPipelines();
    const jobs = ["a: {stage: build, script: x, allow_failure: true}", "b: {script: x}"];
    await ci.commit({ [file]: jobs.join("\n") }, "Add [skip ci]");
    const { localId } = await ci.start();
    const [{ localId: job } = {}] = await ci.jobs(localId);
    await app.post(`${ci.base}/cicd/job/${job}/cancel`, { token: ci.token });
    expect(await ci.statuses(localId)).to.deep.equal({ a: "CANCELED", b: "PENDING" });
    await ci.run();
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "WARNING" }),
    );
    const next = await ci.start();
    await app.post(`${ci.base}/cicd/pipeline/${next["localId"]}/cancel`, { token: ci.token });
    expect(await ci.pipeline(next["localId"])).to.include({ status: "CANCELED" });
  });

  it("is canceled and restarted by itself", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: "a: {script: x}\nb: {script: x}" }, "Add [skip ci]");
    const { localId } = await ci.start();
    const [{ localId: job } = {}] = await ci.jobs(localId);
    const at = `${ci.base}/cicd/job/${job}`;
    expect((await app.post(`${at}/cancel`, { token: ci.token })).body["status"]).to.equal(
      "CANCELED",
    );
    expect((await app.post(`${at}/cancel`, { token: ci.token })).body["code"]).to.equal(
      "job.finished",
    );
    expect(await ci.pipeline(localId)).to.include({ status: "PENDING" });
    expect((await app.post(`${at}/restart`, { token: ci.token })).body["status"]).to.equal(
      "PENDING",
    );
    const again = await app.post(`${at}/restart`, { token: ci.token });
    expect([again.status, again.body["code"]]).to.deep.equal([422, "job.not_finished"]);
  });

  it("is tried again as often as its file says", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: "a: {script: x, retry: 1}" }, "Add [skip ci]");
    const { localId } = await ci.start();
    await ci.run("RecordJobFailed");
    await ci.run("RecordJobFailed");
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "FAILED" }),
    );
    expect(await ci.claim()).to.equal(undefined);
  });

  it("waits for the other job of its resource group", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: "a: {script: x, resource_group: prod}" }, "Add [skip ci]");
    await ci.start();
    const { localId } = await ci.start();
    expect(await ci.pipeline(localId)).to.include({ status: "WAITING_FOR_RESOURCE" });
    await ci.run();
    await ci.run();
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "SUCCESS" }),
    );
  });

  it("is the only one of its resource group that is queued, of many whose turn comes at once", async () => {
    const ci = await givenPipelines();
    const names = Array.from({ length: 16 }, (_, number) => `job${number}`);
    const jobs = names.map((name) => `${name}: {script: x, resource_group: prod}`);
    await ci.commit({ [file]: jobs.join("\n") }, "Add [skip ci]");
    const { localId } = await ci.start();
    const statuses = Object.values(await ci.statuses(localId)).sort();
    expect(statuses).to.deep.equal([
      "PENDING",
      ...Array.from({ length: 15 }, () => "WAITING_FOR_RESOURCE"),
    ]);
  });

  it("is given to one agent, however many request one at once", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: "a: {script: x}\nb: {script: x}" }, "Add [skip ci]");
    await ci.start();
    const claimed = await Promise.all(Array.from({ length: 12 }, () => ci.claim()));
    const names = claimed.flatMap((row) => row?.name ?? []);
    expect(names.sort()).to.deep.equal(["a", "b"]);
  });
});
