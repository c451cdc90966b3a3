import { z } from "zod";

import { decode } from "../../events/core/decode.ts";
import { idInStream } from "../../events/core/stream.ts";
import { mergeRequestEvents } from "../../events/merge-request/merge-request.ts";
import { findMergeRequestById } from "../../projections/merge-request/merge-request-query.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { deleteRefs } from "../../services/merge-request/delete-refs.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "merge-request-refs";

/** The request that deletes them does it at once; the job serves when its process died before. */
export const mergeRequestRefs: Reactor = {
  name: "merge-request-refs",
  types: new Set(["MergeRequestRefsDeleted"]),
  async react(recorded, { visible }) {
    decode(mergeRequestEvents, recorded);
    await visible(recorded.position);
    const mergeRequestId = idInStream(recorded.stream);
    return [{ queue, id: recorded.id, data: { mergeRequestId } }];
  },
};

export const mergeRequestRefsWorker = defineWorker({
  queue,
  concurrency: 1,
  payload: z.object({ mergeRequestId: z.uuid() }),
  async run({ mergeRequestId }, deps: WorkerDeps) {
    const row = await findMergeRequestById(deps.db, mergeRequestId);
    if (row?.refs_deleted === true) await deleteRefs(deps, row);
  },
});
