import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { WorkerDeps } from "../../../src/workers/core/deps.ts";
import { startedMax } from "../../../src/workers/pipeline/downstream.ts";
import { jobPayload } from "../../../src/workers/pipeline/payload.ts";
import { triggerJobWorker } from "../../../src/workers/pipeline/trigger-job.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const { db } = app.deps;
const deps = app.deps as unknown as WorkerDeps;
const file = ".forge-ci.yaml";

/** A project with these files, of which no push starts a pipeline. */
async function givenProject(files: Readonly<Record<string, string>>, given: Given = {}) {
  const { owner = anna, ...details } = given;
  const alias = `project${randomUUID().slice(0, 8)}`;
  const ci = pipelinesOf(app, owner, await app.givenProject(owner, alias, details));
  await ci.commit(files, "Add [skip ci]");
  return { ...ci, path: `${owner.alias}/${alias}` };
}
type Given = Readonly<{ owner?: TestUser; private?: boolean }>;

/** Carries out the first job of a pipeline. */
async function carriedOut(pipelineId: unknown) {
  const job = await db("pipeline_job").where({ pipeline_id: pipelineId }).first();
  const payload = { jobId: job.id, attempt: job.attempt };
  await triggerJobWorker.runJob(payload, deps, new AbortController().signal);
  await app.deps.visible(await app.head());
  const after = await db("pipeline_job").where({ id: job.id }).first();
  const { status, child_pipeline_id: child, failure_message: message } = after;
  return { status, child, message };
}

describe("a pipeline whose file starts itself", () => {
  const given = async () => {
    const ci = await givenProject({ [file]: "a: {trigger: {include: .forge-ci.yaml}}" });
    return (await ci.start())["pipeline_uuid"];
  };

  it("ends three levels below", async () => {
    let pipelineId = await given();
    for (let level = 1; level <= 3; level += 1) {
      const { child } = await carriedOut(pipelineId);
      expect(child, `level ${level}`).to.be.a("string");
      pipelineId = child;
    }
    const message = "Pipelines start others at most 3 levels deep.";
    expect(await carriedOut(pipelineId)).to.deep.equal({ status: "FAILED", child: null, message });
  });

  it("starts no more than a thousand others in all", async () => {
    const { child } = await carriedOut(await given());
    const row = await db("pipeline").where({ id: child }).first();
    const copies = Array.from({ length: startedMax - 2 }, () => {
      const more = { merge_request: null, local_id: null, number: null };
      return { ...row, ...more, id: randomUUID() };
    });
    await db.batchInsert("pipeline", copies, 100);
    const last = await carriedOut(child);
    expect(last.status).to.equal("SUCCESS");
    const end = await carriedOut(last.child);
    expect(end).to.include({ status: "FAILED", child: null });
    expect(end.message).to.contain("1000 others");
  });
});

describe("a job that starts a pipeline of another project", () => {
  it("lets the rules and jobs there see that it is no child pipeline", async () => {
    const rules = `[{if: '$CI_PIPELINE_SOURCE == "pipeline"'}]`;
    const there = await givenProject({ [file]: `theirs: {script: x, rules: ${rules}}` });
    const ci = await givenProject({ [file]: `a: {trigger: ${there.path}}` });
    const { child, message } = await carriedOut((await ci.start())["pipeline_uuid"]);
    expect(message).to.equal(null);
    const job = await db("pipeline_job").where({ pipeline_id: child }).first();
    const payload = await jobPayload(app.deps, job, "token");
    const source = payload?.variables.find(({ key }) => key === "CI_PIPELINE_SOURCE");
    expect(source?.value).to.equal("pipeline");
  });
});

describe("a job that starts nothing", () => {
  /** What the end of a job of anna's public project says. */
  async function messageOf(trigger: object, files: Readonly<Record<string, string>> = {}) {
    const yaml = JSON.stringify({ a: { trigger } });
    const ci = await givenProject({ [file]: yaml, ...files }, { private: false });
    const { pipeline_uuid: pipelineId, localId } = await ci.start();
    const { status, message } = await carriedOut(pipelineId);
    expect(status).to.equal("FAILED");
    const [job] = await ci.jobs(localId);
    const failureReason = "downstream_pipeline_failure";
    expect(job).to.include({ failureReason, failureMessage: message });
    return message;
  }
  const start = (path: string, branch?: string) => messageOf({ project: path, branch });
  const works = "x: {script: x}";
  const ruled = "x: {script: x, rules: [{when: never}]}";

  it("says what is wrong with a public project", async () => {
    const theirs = await givenProject({ [file]: works }, { owner: bob, private: false });
    expect(await start(theirs.path)).to.contain("may not start pipelines on that branch or tag");
    expect(await start(theirs.path, "gone")).to.equal("The project has no such branch or tag.");
    const empty = await givenProject({ "a.txt": "a" }, { private: false });
    expect(await start(empty.path)).to.contain("no pipeline file");
    const none = await givenProject({ [file]: ruled }, { private: false });
    expect(await start(none.path)).to.equal("The rules of the file leave no job.");
    const wrong = await givenProject({ [file]: "x: []" }, { private: false });
    expect(await start(wrong.path)).to.equal(
      "Pipeline #1 of the project has mistakes in its file.",
    );
  });

  it("says the same of every private project as of one that does not exist", async () => {
    const missing = await start("bob/missing");
    expect(missing).to.contain("does not exist").and.contain("may not start");
    const open = await givenProject({ [file]: works }, { private: false });
    for (const path of ["$NONE", "x", "/", `${open.path}/more`, `/${open.path}`]) {
      expect(await start(path), path).to.equal(missing);
    }
    const theirs = await givenProject({ [file]: works }, { owner: bob, private: true });
    expect(await start(theirs.path)).to.equal(missing);
    expect(await start(theirs.path, "gone")).to.equal(missing);
    for (const yaml of [ruled, "x: []"]) {
      const own = await givenProject({ [file]: yaml }, { private: true });
      expect(await start(own.path), yaml).to.equal(missing);
      expect(await start(own.path, "gone"), yaml).to.equal(missing);
    }
  });

  it("states what is too large to be handed on", async () => {
    const variables = (name: string) =>
      Array.from({ length: 8 }, (_, n) => ({ key: `${name}${n}`, value: "x".repeat(50_000) }));
    const own = Object.fromEntries(variables("OWN").map(({ key, value }) => [key, value]));
    const trigger = { include: "child.yml", forward: { pipeline_variables: true } };
    const yaml = JSON.stringify({ a: { trigger, variables: own } });
    const ci = await givenProject({ [file]: yaml, "child.yml": works });
    const { pipeline_uuid: pipelineId } = await ci.start({ variables: variables("GIVEN") });
    const { message, ...end } = await carriedOut(pipelineId);
    expect(end).to.deep.equal({ status: "FAILED", child: null });
    expect(message).to.contain("is over 1048576 bytes");
  });

  it("cuts what a mistake says between characters", async () => {
    const include = "child.yml";
    for (const name of ["x", "xy"]) {
      const yaml = JSON.stringify({ [name + "😀".repeat(1_200)]: [] });
      expect(await messageOf({ include }, { [include]: yaml }))
        .to.contain("😀")
        .and.not.contain("\ufffd");
    }
  });

  it("names the mistakes in the file of a child pipeline", async () => {
    const include = "child.yml";
    const wrong = await messageOf({ include }, { [include]: "x: []" });
    expect(wrong).to.match(/^Pipeline #2: child\.yml:1:1: x: /);
    const none = await messageOf({ include }, { [include]: ruled });
    expect(none).to.equal("Pipeline #2: The rules of the file leave no job.");
  });
});
