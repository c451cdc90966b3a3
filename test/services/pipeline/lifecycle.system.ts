import { expect } from "chai";

import type { Recorded } from "../../../src/events/core/event.ts";
import { bySystem } from "../../../src/events/core/system.ts";
import { jobStream } from "../../../src/events/pipeline/job.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { advancePipeline } from "../../../src/services/pipeline/advance.ts";
import { cancelSuperfluous } from "../../../src/services/pipeline/auto-cancel.ts";
import { cancelPipeline } from "../../../src/services/pipeline/lifecycle.ts";
import { cancelFailedWorker, failedJobs } from "../../../src/workers/pipeline/cancel-failed.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { at as now } from "../../support/app/history.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const at = pipelinesOf(app, anna, search);
const { token } = at;
const { db, store } = app.deps;
const workerDeps = app.deps as unknown as WorkerDeps;

async function started(yaml: string) {
  await at.commit({ ".forge-ci.yaml": yaml }, "Change [skip ci]");
  const { localId } = await at.start();
  const row = await db("pipeline").where({ local_id: localId, project_id: search.id }).first();
  const jobs = await db("pipeline_job").where({ pipeline_id: row.id }).orderBy("place");
  return { localId, row, jobs, path: `${at.base}/cicd/pipeline/${localId}` };
}

const locks = "select from pg_locks join pg_database on pg_database.oid = database";
const waits = async () => {
  const here = "locktype = 'advisory' and not granted and datname = current_database()";
  return (await db.raw(`${locks} where ${here}`)).rows.length > 0;
};

describe("canceling a pipeline", () => {
  it("reaches a job that failed and is tried again, of which the failure alone is shown", async () => {
    const { localId, row, jobs } = await started("a: {script: x, retry: 1}");
    const [{ id, status }] = jobs;
    await db("pipeline_job").where({ id }).update({ status: "FAILED" });
    const visible: typeof app.deps.visible = async (position) => {
      await db("pipeline_job").where({ id, status: "FAILED" }).update({ status });
      await app.deps.visible(position);
    };
    const metadata = bySystem({ commandId: id }, now);
    await cancelPipeline({ ...app.deps, visible }, row, { by: anna.id, metadata });
    expect(await at.statuses(localId)).to.deep.equal({ a: "CANCELED" });
  });

  it("reaches jobs that are about to start anew", async () => {
    const { localId, jobs, path } = await started("a: {script: x}\nb: {script: x}");
    await app.post(`${path}/cancel`, { token });
    const append = store.append.bind(store);
    let canceling: ReturnType<typeof app.post> | undefined;
    const hooked: Partial<typeof store> = {
      append: async (stream, ...more) => {
        const isReset = jobs.some(({ id }) => stream === jobStream(id));
        if (isReset && canceling === undefined) {
          canceling = app.post(`${path}/cancel`, { token });
          await Promise.race([canceling, eventually(waits)]);
        }
        return append(stream, ...more);
      },
    };
    Object.assign(store, hooked);
    try {
      expect((await app.post(`${path}/restart`, { token })).status).to.equal(200);
      expect((await canceling)?.status).to.equal(200);
    } finally {
      Object.assign(store, { append });
    }
    expect(await at.statuses(localId)).to.deep.equal({ a: "CANCELED", b: "CANCELED" });
  });
});

describe("a pipeline of whose jobs a newer one may end some", () => {
  it("loses those that go on, behind one that has ended", async () => {
    const yaml = `
workflow: {auto_cancel: {on_new_commit: interruptible}}
a: {stage: build, script: x, interruptible: true}
b: {stage: test, script: x, interruptible: true}
c: {stage: test, script: x}
`;
    const { localId, row } = await started(yaml);
    await at.run();
    const cause = { id: "an end", correlationId: "an end" };
    await advancePipeline(app.deps, row.id, cause);
    const { pipeline_uuid: newer } = await at.start();
    await cancelSuperfluous(app.deps, String(newer), cause);
    expect(await at.statuses(localId)).to.deep.equal({ a: "SUCCESS", b: "CANCELED", c: "PENDING" });
  });
});

describe("a pipeline that a failed job ends", () => {
  const workflow = "workflow: {auto_cancel: {on_job_failure: all}}";

  let projects = 0;
  /** Fails the first job, and does what follows. */
  async function failed(yaml: string) {
    projects += 1;
    const project = await app.givenProject(anna, `failing${projects}`);
    const ci = pipelinesOf(app, anna, project);
    await ci.commit({ ".forge-ci.yaml": yaml }, "Add [skip ci]");
    const { localId } = await ci.start();
    await ci.run("RecordJobFailed");
    const failures: Recorded[] = [];
    for await (const event of store.readAll()) {
      const isIts = event.type === "JobFailed" && event.data["projectId"] === project.id;
      if (isIts) failures.push(event);
    }
    expect(failures).to.have.length(1);
    for (const event of failures) {
      for (const { data } of await failedJobs.react(event, workerDeps)) {
        await cancelFailedWorker.runJob(data, workerDeps, new AbortController().signal);
      }
    }
    await app.deps.visible(await app.head());
    return { statuses: await ci.statuses(localId), pipeline: await ci.pipeline(localId) };
  }

  it("loses the jobs that go on, and is FAILED", async () => {
    const { statuses, pipeline } = await failed(`${workflow}\na: {script: x}\nb: {script: x}`);
    expect(statuses).to.deep.equal({ a: "FAILED", b: "CANCELED" });
    expect(pipeline).to.include({ status: "FAILED" });
  });

  it("goes on where the job may fail or is tried again, and without the keyword", async () => {
    const b = "b: {script: x}";
    const allowed = await failed(`${workflow}\na: {script: x, allow_failure: true}\n${b}`);
    expect(allowed.statuses).to.deep.equal({ a: "WARNING", b: "PENDING" });
    const again = await failed(`${workflow}\na: {script: x, retry: 1}\n${b}`);
    expect(again.statuses).to.deep.equal({ a: "CREATED", b: "PENDING" });
    const { statuses } = await failed(`a: {script: x}\n${b}`);
    expect(statuses).to.deep.equal({ a: "FAILED", b: "PENDING" });
  });
});
