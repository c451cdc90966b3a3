import { z } from "zod";

import { decode } from "../../events/core/decode.ts";
import { idInStream } from "../../events/core/stream.ts";
import { repositoryEvents } from "../../events/repository/repository.ts";
import { checkMerge } from "../../git/merge-commits.ts";
import { Refusal } from "../../platform/refusal.ts";
import { dropMergeChecks, mergeChecks } from "../../projections/merge-request/merge-check.ts";
import { newestOpenInto } from "../../projections/merge-request/merge-request-query.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "merge-check";
const moved = ["BranchCreated", "BranchUpdated"] as const;
/** Users open the newest requests most; older ones are checked when a user opens them. */
const requestsMax = 50;
const jobMsMax = 60_000;
const keptDays = 30;
const droppedAtOnce = 10_000;

/** After a push to a branch the requests into it may conflict: one job a branch finds out. */
export const mergeCheck: Reactor = {
  name: "merge-check",
  types: new Set(moved),
  async react(recorded, deps) {
    const { type, data } = decode(repositoryEvents, recorded);
    if (type !== "BranchCreated" && type !== "BranchUpdated") return [];
    const target = { projectId: idInStream(recorded.stream), branch: data.branch };
    await deps.visible(recorded.position);
    const head = type === "BranchCreated" ? data.commitId : data.after;
    const [open] = await newestOpenInto(deps.db, { ...target, countMax: 1 });
    if (open === undefined) return [];
    return [{ queue, id: recorded.id, data: { ...target, head } }];
  },
  coveredBy: ({ data }) => `${String(data["projectId"])} ${String(data["branch"])}`,
  batchMs: 500,
};

/**
 * Merges the newest open requests of a branch in thought, one after the other, and keeps what comes out for
 * all processes. Ends when the branch moves on, because a later job does the same for its new head.
 */
export const mergeCheckWorker = defineWorker({
  queue,
  concurrency: 1,
  payload: z.object({ projectId: z.uuid(), branch: z.string(), head: z.string() }),
  async run({ projectId, branch, head }, deps: WorkerDeps, signal) {
    const { db, now } = deps;
    const repository = await deps.git.find(projectId);
    if (repository === undefined) return;
    const kept = mergeChecks(db, projectId);
    const endsAt = now().getTime() + jobMsMax;
    for (const row of await newestOpenInto(db, { projectId, branch, countMax: requestsMax })) {
      const target = await findRef(db, projectId, "branch", branch);
      if (target?.object_id !== head || signal.aborted || now().getTime() > endsAt) return;
      const heads = { ours: head, theirs: row.source_commit };
      await checkMerge(repository, heads, kept).catch((error: unknown) => {
        // What is too much for a merge is found out once; other trouble may pass.
        if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
      });
    }
  },
});

export async function sweepMergeChecks({ db, now }: WorkerDeps): Promise<void> {
  const before = new Date(now().getTime() - keptDays * 24 * 3_600_000);
  await dropMergeChecks(db, before, droppedAtOnce);
}
