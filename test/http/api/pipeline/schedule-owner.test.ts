import { expect } from "chai";
import type { WorkerDeps } from "../../../../src/services/core/deps.ts";
import { scheduleWorker } from "../../../../src/workers/pipeline/schedule.ts";
import { pipelinesOf, type View } from "../../../support/agent/pipeline-app.ts";
import { type Answer, startTestApp } from "../../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const carl = await app.givenUser("carl");
const dora = await app.givenUser("dora");
const project = await app.givenProject(anna, "search");
const ci = pipelinesOf(app, anna, project);
const at = `${ci.base}/cicd/schedule`;
const { token } = bob;
const nightly = { cron: "0 3 * * *", timezone: "Europe/Berlin", refName: "topic" };
const variables = [{ key: "DEPLOY_TOKEN", value: "s3cret-of-bob" }];

const said = ({ status, body }: Answer) => [status, body["code"]];
const notOwner = [403, "schedule.not_owner"];
const keysOf = ({ body }: Answer) => (body["variables"] as { key: string }[]).map(({ key }) => key);

before(async () => {
  await ci.commit({ ".forge-ci.yaml": "a: {script: x}" }, "Add [skip ci]");
  for (const body of [
    { userAlias: "bob", role: "DEVELOPER" },
    { userAlias: "carl", role: "DEVELOPER" },
    { userAlias: "dora", role: "REPORTER" },
  ]) {
    const { status, text } = await app.post(`${ci.base}/member/invite`, {
      token: anna.token,
      body,
    });
    expect(status, text).to.be.within(200, 201);
  }
  for (const newBranch of ["topic", "other"]) {
    const body = { newBranch, originBranch: "main" };
    expect((await app.post(`${ci.base}/branch`, { token, body })).status).to.equal(200);
  }
});

async function given(): Promise<string> {
  const made = await app.post(at, { token, body: { ...nightly, variables } });
  expect(made.status, made.text).to.equal(200);
  return `${at}/${made.body["id"]}`;
}

describe("a schedule", () => {
  it("is changed, run and deleted by its owner alone, also where others set the rules", async () => {
    const one = await given();
    for (const other of [carl, anna]) {
      const as = { token: other.token };
      for (const body of [{ description: "Mine" }, { refName: "other" }, { active: false }]) {
        expect(said(await app.put(one, { ...as, body }))).to.deep.equal(notOwner);
      }
      expect(said(await app.post(`${one}/play`, as))).to.deep.equal(notOwner);
      expect(said(await app.delete(one, as))).to.deep.equal(notOwner);
    }
    const { body } = await app.get(one, { token });
    expect(body).to.include({ ownerId: bob.id, refName: "topic", active: true, description: "" });
    const [{ eventId } = { eventId: "" }] = await created();
    const undo = { token: anna.token, body: { eventId } };
    expect(said(await app.post(`${ci.base}/undo`, undo))).to.deep.equal(notOwner);
    expect((await app.post(`${one}/play`, { token })).status).to.equal(200);
    expect((await app.delete(one, { token })).status).to.equal(200);
  });

  it("is taken over by who may run jobs on its ref, without the variables of others", async () => {
    const one = await given();
    expect((await app.post(`${one}/take-over`, { token: dora.token })).status).to.equal(403);
    const taken = await app.post(`${one}/take-over`, { token: carl.token });
    expect(taken.body, taken.text).to.include({ ownerId: carl.id, active: true, refName: "topic" });
    expect(keysOf(taken)).to.deep.equal([]);
    expect(said(await app.put(one, { token, body: { description: "Mine" } }))).to.deep.equal(
      notOwner,
    );
    expect(keysOf(await app.post(`${one}/take-over`, { token }))).to.deep.equal([]);
  });

  it("stays as it is when its owner takes it over", async () => {
    const one = await given();
    const again = await app.post(`${one}/take-over`, { token });
    expect([again.body["ownerId"], keysOf(again)]).to.deep.equal([bob.id, ["DEPLOY_TOKEN"]]);
    const moved = await app.put(one, { token, body: { refName: "other" } });
    expect(keysOf(moved), "they are the owner's own").to.deep.equal(["DEPLOY_TOKEN"]);
  });

  it("runs with the rights of the new owner once it was taken over", async () => {
    const one = await given();
    await app.post(`${one}/take-over`, { token: carl.token });
    const { nextRunAt: dueAt, id: scheduleId } = (await app.get(one, { token })).body;
    const now = () => new Date(String(dueAt));
    const deps = { ...app.deps, now } as unknown as WorkerDeps;
    const data = { scheduleId, projectId: project.id, dueAt };
    await scheduleWorker.runJob(data, deps, new AbortController().signal);
    await app.deps.visible(await app.head());
    const [pipeline]: readonly View[] = await ci.pipelines();
    expect(pipeline).to.include({ source: "SCHEDULE", userId: carl.id, ref: "topic" });
  });
});

async function created(): Promise<readonly { eventId: string }[]> {
  const path = `${ci.base}/audit?type=PipelineScheduleCreated&size=1`;
  const { body } = await app.get(path, { token: anna.token });
  return (body["_embedded"] as { auditEntryList: { eventId: string }[] }).auditEntryList;
}
