import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { WorkerDeps } from "../../../src/workers/core/deps.ts";
import { triggerJobWorker } from "../../../src/workers/pipeline/trigger-job.ts";
import { pipelinesOf } from "../agent/pipeline-app.ts";
import { startTestApp, type TestUser } from "../app/app.ts";

export const file = ".forge-ci.yaml";

type Given = Readonly<{ owner?: TestUser; private?: boolean }>;

export const ruled = "x: {script: x, rules: [{when: never}]}";

export async function givenTriggers() {
  const app = await startTestApp();
  const anna = await app.givenUser("anna");
  const { db } = app.deps;
  const deps = app.deps as unknown as WorkerDeps;
  /** A project with these files, of which no push starts a pipeline. */
  async function givenProject(files: Readonly<Record<string, string>>, given: Given = {}) {
    const { owner = anna, ...details } = given;
    const alias = `project${randomUUID().slice(0, 8)}`;
    const ci = pipelinesOf(app, owner, await app.givenProject(owner, alias, details));
    await ci.commit(files, "Add [skip ci]");
    return { ...ci, path: `${owner.alias}/${alias}` };
  }
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
  const given = async () => {
    const ci = await givenProject({ [file]: "a: {trigger: {include: .forge-ci.yaml}}" });
    return (await ci.start())["pipeline_uuid"];
  };
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
  return {
    ...{ app, db, givenProject, carriedOut, given, messageOf },
  };
}
