import { expect } from "chai";

import type { WorkerDeps } from "../../../../src/services/core/deps.ts";
import { scheduleWorker } from "../../../../src/workers/pipeline/schedule.ts";
import { triggerJobWorker } from "../../../../src/workers/pipeline/trigger-job.ts";
import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { type Answer, startTestApp } from "../../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const { db } = app.deps;
const file = ".forge-ci.yaml";
const { signal } = new AbortController();

let projects = 0;
async function given(yaml: string, level = "ADMINS") {
  projects += 1;
  const project = await app.givenProject(anna, `protected${projects}`);
  const ci = pipelinesOf(app, anna, project);
  await ci.commit({ [file]: yaml }, "Add [skip ci]");
  const as =
    (user: typeof anna) =>
    (path: string, body: object = {}) =>
      app.post(`${ci.base}/${path}`, { token: user.token, body });
  const [owner, developer] = [as(anna), as(bob)];
  await owner("member/invite", { userAlias: "bob", role: "DEVELOPER" });
  const rule = { branchTemplate: "main", allowedToPush: "NO_ONE", allowedToMerge: level };
  const made = await owner("branch-protection/create", { ...rule, allowForcePush: false });
  expect(made.status, made.text).to.be.below(300);
  return { ...ci, project, owner, developer };
}

const said = ({ status, body }: Answer) => [status, body["code"]];
const refused = [403, "pipeline.ref_protected"];
const onMain = { refName: "main", isTag: false };
const nightly = { cron: "0 3 * * *", timezone: "Europe/Berlin", refName: "main" };
const deps = app.deps as unknown as WorkerDeps;

describe("a protected branch", () => {
  const byHand = "a: {script: x, when: manual}";

  it("has its jobs started, restarted and played by those who may change it", async () => {
    const { owner, developer, jobs, start, run } = await given(byHand);
    expect(said(await developer("cicd/pipeline/start", onMain))).to.deep.equal(refused);
    const { localId } = await start();
    const [{ localId: job } = {}] = await jobs(localId);
    const variables = [{ key: "BASH_ENV", value: "leak.sh" }];
    expect(said(await developer(`cicd/job/${job}/play`, { variables }))).to.deep.equal(refused);
    expect((await owner(`cicd/job/${job}/play`)).status).to.equal(200);
    await run("RecordJobFailed");
    for (const what of [`job/${job}`, `pipeline/${localId}`]) {
      expect(said(await developer(`cicd/${what}/restart`))).to.deep.equal(refused);
    }
    expect((await owner(`cicd/job/${job}/restart`)).status).to.equal(200);
  });

  it("is open to developers who may merge into it, and others are open to them anyway", async () => {
    const merging = await given(byHand, "DEVELOPER");
    expect((await merging.developer("cicd/pipeline/start", onMain)).status).to.equal(200);
    const { developer, owner } = await given(byHand);
    await owner("branch", { newBranch: "feature", originBranch: "main" });
    const onFeature = { refName: "feature", isTag: false };
    expect((await developer("cicd/pipeline/start", onFeature)).status).to.equal(200);
  });

  it("has no schedules of others", async () => {
    const { base, owner, developer, project, pipelines } = await given(byHand);
    expect(said(await developer("cicd/schedule", nightly))).to.deep.equal(refused);
    const { body: made } = await owner("cicd/schedule", nightly);
    const one = `cicd/schedule/${made["id"]}`;
    expect(said(await developer(`${one}/take-over`))).to.deep.equal(refused);
    await db("pipeline_schedule").where({ id: made["id"] }).update({ owner_id: bob.id });
    const dueAt = String(made["nextRunAt"]);
    const data = { scheduleId: made["id"], projectId: project.id, dueAt };
    const then = { ...deps, now: () => new Date(dueAt) } as WorkerDeps;
    await scheduleWorker.runJob(data, then, signal);
    await app.deps.visible(await app.head());
    const after = await app.get(`${base}/${one}`, { token: anna.token });
    expect(after.body).to.include({ active: false });
    expect(await pipelines()).to.deep.equal([]);
  });

  it("has no pipelines of the triggers of others", async () => {
    const { base, owner } = await given("a: {script: x}");
    const { body: made } = await owner("cicd/trigger", { description: "Outside" });
    const body = { token: made["token"], refName: "main" };
    expect((await app.post(`${base}/cicd/trigger/pipeline`, { body })).status).to.equal(200);
    await db("pipeline_trigger").where({ id: made["id"] }).update({ owner_id: bob.id });
    const answer = await app.post(`${base}/cicd/trigger/pipeline`, { body });
    expect(said(answer)).to.deep.equal([403, "trigger.token_invalid"]);
  });
});

describe("a job that starts a pipeline of another project", () => {
  async function carryOut({ project }: Pick<Awaited<ReturnType<typeof given>>, "project">) {
    const { id, attempt } = await db("pipeline_job").where({ project_id: project.id }).first();
    await triggerJobWorker.runJob({ jobId: id, attempt }, deps, signal);
    await app.deps.visible(await app.head());
  }

  it("has the rights of who played it", async () => {
    const target = await given("x: {script: x}", "ADMINS");
    for (const [by, count] of [
      ["developer", 0],
      ["owner", 1],
    ] as const) {
      const trigger = `{project: anna/${target.project.alias}, branch: main}`;
      const ci = await given(`a: {trigger: ${trigger}, when: manual}`, "DEVELOPER");
      const { localId } = await ci.start();
      const [{ localId: job } = {}] = await ci.jobs(localId);
      expect((await ci[by](`cicd/job/${job}/play`)).status).to.equal(200);
      await carryOut(ci);
      expect(await target.pipelines()).to.have.length(count);
    }
  });

  it("runs on a tag as a tag, though a protected branch may have its name", async () => {
    const target = await given("x: {script: x}");
    await target.owner("tag/create", { tagName: "release", branchName: "main" });
    const rule = { branchTemplate: "release", allowedToPush: "ADMINS", allowedToMerge: "ADMINS" };
    await target.owner("branch-protection/create", { ...rule, allowForcePush: false });
    const yaml = (branch: string) =>
      `a: {trigger: {project: anna/${target.project.alias}, branch: ${branch}}}`;
    const ci = await given(yaml("release"));
    await ci.start();
    await carryOut(ci);
    const made = await db("pipeline").where({ project_id: target.project.id });
    expect(made.map(({ ref, is_tag }) => [ref, is_tag])).to.deep.equal([["release", true]]);
    const other = await given(yaml(made[0].commit_id));
    await other.start();
    await carryOut(other);
    expect(await target.pipelines()).to.have.length(1);
  });
});
