import { z } from "zod";
import { handle } from "../../commands/core/handle.ts";
import { stepOf } from "../../commands/core/step.ts";
import { mergeRequest } from "../../commands/merge-request/merge-request.ts";
import type { RefusedMerge } from "../../commands/merge-request/merge-request-command.ts";
import { decode } from "../../events/core/decode.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { bySystem } from "../../events/core/system.ts";
import {
  mergeRequestEvents,
  mergeRequestStream,
} from "../../events/merge-request/merge-request.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { Refusal } from "../../platform/refusal.ts";
import {
  awaitingMergeRequests,
  findMergeRequestById,
} from "../../projections/merge-request/merge-request-query.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { mergeJudge } from "../../services/merge-request/judge.ts";
import { merge, refusalsByAnother } from "../../services/merge-request/merge.ts";
import { withNewestSource } from "../../services/merge-request/source.ts";
import { waitsForPipelines } from "../../services/merge-request/waits-for-pipelines.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "merge-request-auto";
const countMax = 200;

/** The job that looks whether an awaited merge can be made now. */
export const autoMergeJob = (mergeRequestId: string, occasion: string): Job => ({
  queue,
  id: `${mergeRequestId}-${occasion}`,
  data: { mergeRequestId },
});

/** Checks every awaited merge: an end of a pipeline that was missed holds up nothing for long. */
export async function sweepAutoMerges({ db, queues, now }: WorkerDeps): Promise<void> {
  const minute = String(Math.floor(now().getTime() / 60_000));
  const ids = await awaitingMergeRequests(db, countMax);
  await queues.add(ids.map((id) => autoMergeJob(id, minute)));
}

/**
 * Merges in the name of the user who requested it, once no condition is open. A failed pipeline, or any
 * refusal except the one for another merge under way, ends the waiting.
 */
export const autoMergeWorker = defineWorker({
  queue,
  concurrency: 2,
  payload: z.object({ mergeRequestId: z.uuid() }),
  async run({ mergeRequestId }, deps: WorkerDeps) {
    const found = await findMergeRequestById(deps.db, mergeRequestId);
    const row = found && (await withNewestSource(deps, found));
    const project = row && (await findProjectById(deps.db, row.project_id));
    if (!row?.auto_merge || project === undefined || row.status !== "OPENED") return;
    const { setById: userId, choice } = row.auto_merge;
    const role = await actingRole(deps.db, project, userId);
    const judge = mergeJudge(deps, project, { userId, role });
    const judgement = await judge(row, { strategy: choice.strategy });
    const { last, mergeResult, pending } = judgement.pipelines;
    if (last === false || mergeResult === false) {
      const message = "A pipeline that the merge waited for failed.";
      return giveUp(deps, mergeRequestId, { code: "pipeline.failed", message });
    }
    if (pending || waitsForPipelines(judgement)) return;
    const metadata = await autoMergeMetadata(deps, mergeRequestId);
    if (metadata === undefined) return;
    const order = { mergeRequestId, project, role, userId, choice };
    try {
      await merge(deps, { ...order, metadata: stepOf(metadata, "auto merge") });
    } catch (error) {
      if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
      // Checked again by the sweep.
      if (refusalsByAnother.includes(error.code)) return;
      deps.log.info({ mergeRequestId, code: error.code }, "awaited merge was refused");
      await giveUp(deps, mergeRequestId, error);
    }
  },
});

/** Envelope of the request that ordered the merge. */
async function autoMergeMetadata(
  { store }: WorkerDeps,
  mergeRequestId: string,
): Promise<EventMetadata | undefined> {
  for await (const recorded of store.readStreamBackwards(mergeRequestStream(mergeRequestId))) {
    const { type } = decode(mergeRequestEvents, recorded);
    if (type === "MergeRequestAutoMergeSet") return recorded.metadata;
  }
  return undefined;
}

async function giveUp(
  { store, now, visible }: WorkerDeps,
  id: string,
  { code, message }: RefusedMerge,
): Promise<void> {
  const at = now().toISOString();
  const metadata = bySystem({ commandId: deterministicId("auto merge refused", id, at) }, at);
  const command = {
    type: "ClearAutoMerge",
    reason: "REFUSED",
    refusal: { code, message },
    at,
  } as const;
  await visible((await handle(store, mergeRequest, { id, command, metadata })).position);
}
