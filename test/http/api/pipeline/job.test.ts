import { expect } from "chai";
import { eventually } from "../../../support/app/eventually.ts";
import { file, givenJobs } from "../../../support/pipeline/jobs.ts";

const { app, anna, givenPipelines } = await givenJobs();

const bob = await app.givenUser("bob");

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
});
