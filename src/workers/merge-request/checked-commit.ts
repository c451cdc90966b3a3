import { z } from "zod";

import { commitStatusEvents } from "../../events/pipeline/commit-status.ts";
import { pipelineEvents } from "../../events/pipeline/pipeline.ts";
import { awaitingMergeRequestsOf } from "../../projections/merge-request/merge-request-query.ts";
import { findPipelineById } from "../../projections/pipeline/query.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";
import { autoMergeJob } from "./auto-merge.ts";

const queue = "merge-request-checked";
const countMax = 200;

const { projectId } = commitStatusEvents.CommitStatusReported.shape;
const Subject = z.union([
  z.object({ projectId, commitId: commitStatusEvents.CommitStatusReported.shape.commitId }),
  z.object({ projectId, pipelineId: pipelineEvents.PipelineFinished.shape.pipelineId }),
]);

/** After the end of a pipeline, or a status from outside, a merge may have nothing to wait for. */
export const mergeRequestChecked: Reactor = {
  name: "merge-request-checked",
  types: new Set(["PipelineFinished", "PipelineCanceled", "CommitStatusReported"]),
  react: async ({ id, data, position }) => {
    const subject = Subject.parse(data);
    return [{ queue, id, data: { subject, eventId: id, position: String(position) } }];
  },
};

export const mergeRequestCheckedWorker = defineWorker({
  queue,
  concurrency: 2,
  payload: z.object({ subject: Subject, eventId: z.string(), position: z.string() }),
  async run({ subject, eventId, position }, { db, queues, visible }: WorkerDeps) {
    await visible(BigInt(position));
    const row = "commitId" in subject ? undefined : await findPipelineById(db, subject.pipelineId);
    // A pipeline on the result of a merge checks the source of the request.
    const commitId =
      "commitId" in subject
        ? subject.commitId
        : (row?.merge_request?.sourceCommit ?? row?.commit_id);
    if (commitId === undefined) return;
    const ids = await awaitingMergeRequestsOf(db, subject.projectId, commitId, countMax);
    await queues.add(ids.map((id) => autoMergeJob(id, eventId)));
  },
});
