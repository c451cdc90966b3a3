import { z } from "zod";

import type { Recorded } from "../../events/core/event.ts";
import type { repositoryEvents } from "../../events/repository/repository.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { findBegunMerges } from "../../projections/merge-request/merge-request-query.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { finishMerge } from "../../services/merge-request/finish-merge.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";
import { closeIssuesOf } from "./close-issues.ts";

const queue = "merge-request-merge";

/**
 * A target branch that was moved by a merge makes the request merged, also when the process that moved it
 * died before it recorded that: the command id of the change is that of the merge.
 */
export const mergeRequestMerge: Reactor = {
  name: "merge-request-merge",
  types: new Set<keyof typeof repositoryEvents>(["BranchUpdated"]),
  react: (recorded, deps) => react([recorded], deps),
  reactAll: react,
};

async function react(events: readonly Recorded[], deps: WorkerDeps): Promise<readonly Job[]> {
  const ids = events.map(({ metadata }) => metadata.commandId);
  await deps.visible(events.at(-1)?.position);
  const begun = await findBegunMerges(deps.db, ids);
  return begun.map(({ id: mergeId, merge_request_id: mergeRequestId }) => ({
    queue,
    id: mergeId,
    data: { mergeRequestId, mergeId },
  }));
}

export const mergeRequestMergeWorker = defineWorker({
  queue,
  concurrency: 4,
  payload: z.object({ mergeRequestId: z.uuid(), mergeId: z.uuid() }),
  async run({ mergeRequestId, mergeId }, deps: WorkerDeps) {
    await finishMerge(deps, mergeRequestId, mergeId);
    await closeIssuesOf(deps, mergeRequestId);
  },
});
