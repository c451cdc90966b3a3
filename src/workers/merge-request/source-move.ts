import { z } from "zod";

import { decode } from "../../events/core/decode.ts";
import { idInStream } from "../../events/core/stream.ts";
import { repositoryEvents } from "../../events/repository/repository.ts";
import {
  findMergeRequestById,
  openMergeRequestsFrom,
} from "../../projections/merge-request/merge-request-query.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { withNewestSource } from "../../services/merge-request/source.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "merge-request-source";
const moved = ["BranchCreated", "BranchUpdated"] as const;

/** A push to a branch is a new version of the open requests from it. */
export const mergeRequestSource: Reactor = {
  name: "merge-request-source",
  types: new Set(moved),
  async react(recorded, deps) {
    const { type, data } = decode(repositoryEvents, recorded);
    if (type !== "BranchCreated" && type !== "BranchUpdated") return [];
    const source = { projectId: idInStream(recorded.stream), branch: data.branch };
    await deps.visible(recorded.position);
    const open = await openMergeRequestsFrom(deps.db, source);
    return open.map(({ id }) => ({
      queue,
      id: `${id}-${recorded.id}`,
      data: { projectId: source.projectId, branch: source.branch, mergeRequestId: id },
    }));
  },
  coveredBy: ({ data }) => String(data["mergeRequestId"]),
};

export const mergeRequestSourceWorker = defineWorker({
  queue,
  concurrency: 2,
  payload: z.object({ projectId: z.uuid(), branch: z.string(), mergeRequestId: z.uuid() }),
  async run({ projectId, branch, mergeRequestId }, deps: WorkerDeps) {
    const row = await findMergeRequestById(deps.db, mergeRequestId);
    const isFrom = row?.source_project_id === projectId && row.source_branch === branch;
    if (isFrom && row.status === "OPENED") await withNewestSource(deps, row);
  },
});
