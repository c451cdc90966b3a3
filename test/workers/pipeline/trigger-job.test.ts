import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { WorkerDeps } from "../../../src/workers/core/deps.ts";
import { startedMax, triggerJobWorker } from "../../../src/workers/pipeline/trigger-job.ts";
import { startTestApp } from "../../support/app.ts";
import { pipelinesOf } from "../../support/pipeline-app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const { db } = app.deps;
const deps = app.deps as unknown as WorkerDeps;
const yaml = "a: {trigger: {include: .forge-ci.yaml}}";

describe("a pipeline whose file starts itself", () => {
  /** Pipelines whose trigger job was carried out, and those that it started. */
  async function given() {
    const ci = pipelinesOf(
      app,
      anna,
      await app.givenProject(anna, `again${randomUUID().slice(0, 8)}`),
    );
    await ci.commit({ ".forge-ci.yaml": yaml }, "Add [skip ci]");
    const { pipeline_uuid: root } = await ci.start();
    const childOf = async (pipelineId: unknown) => {
      const job = await db("pipeline_job").where({ pipeline_id: pipelineId }).first();
      const payload = { jobId: job.id, attempt: job.attempt };
      await triggerJobWorker.runJob(payload, deps, new AbortController().signal);
      await app.deps.visible(await app.head());
      const after = await db("pipeline_job").where({ id: job.id }).first();
      return { status: after.status, child: after.child_pipeline_id };
    };
    return { root, childOf };
  }

  it("ends three levels below", async () => {
    const { root, childOf } = await given();
    let pipelineId = root;
    for (let level = 1; level <= 3; level += 1) {
      const { child } = await childOf(pipelineId);
      expect(child, `level ${level}`).to.be.a("string");
      pipelineId = child;
    }
    expect(await childOf(pipelineId)).to.deep.equal({ status: "FAILED", child: null });
  });

  it("starts no more than a thousand others in all", async () => {
    const { root, childOf } = await given();
    const { child } = await childOf(root);
    const row = await db("pipeline").where({ id: child }).first();
    const copies = Array.from({ length: startedMax - 2 }, () => {
      const more = { merge_request: null, local_id: null, number: null };
      return { ...row, ...more, id: randomUUID() };
    });
    await db.batchInsert("pipeline", copies, 100);
    const last = await childOf(child);
    expect(last.status).to.equal("SUCCESS");
    expect(await childOf(last.child)).to.deep.equal({ status: "FAILED", child: null });
  });
});
