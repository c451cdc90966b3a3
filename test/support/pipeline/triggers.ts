import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
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
  const jobsOf = (pipelineId: unknown) =>
    db("pipeline_job").where({ pipeline_id: pipelineId }).orderBy("local_id");
  /** Carries out the first job of a pipeline, or another of its jobs. */
  async function carriedOut(pipelineId: unknown, index = 0) {
    const job = (await jobsOf(pipelineId))[index];
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
  /** What the end of each job of a pipeline of anna's public project says, which starts others by these triggers. */
  async function messagesOf(
    triggers: readonly object[],
    files: Readonly<Record<string, string>> = {},
  ): Promise<readonly string[]> {
    const jobs = triggers.map((trigger, index) => [`job ${index}`, { trigger }] as const);
    const yaml = JSON.stringify(Object.fromEntries(jobs));
    const ci = await givenProject({ [file]: yaml, ...files }, { private: false });
    const { pipeline_uuid: pipelineId, localId } = await ci.start();
    const messages: string[] = [];
    for (const index of triggers.keys()) {
      const { status, message } = await carriedOut(pipelineId, index);
      expect(status).to.equal("FAILED");
      messages.push(message);
    }
    const failureReason = "downstream_pipeline_failure";
    for (const [index, job] of (await ci.jobs(localId)).entries()) {
      expect(job).to.include({ failureReason, failureMessage: messages[index] });
    }
    return messages;
  }
  const messageOf = async (trigger: object, files: Readonly<Record<string, string>> = {}) =>
    (await messagesOf([trigger], files))[0];
  return {
    ...{ app, db, givenProject, carriedOut, given, messageOf, messagesOf },
  };
}
