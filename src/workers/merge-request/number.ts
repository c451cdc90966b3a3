import { z } from "zod";

import { assignLocalId } from "../../commands/core/local-id.ts";
import { decode } from "../../events/core/decode.ts";
import { ProjectId } from "../../events/core/ids.ts";
import { localIdEvents } from "../../events/core/local-id.ts";
import { bySystem } from "../../events/core/system.ts";
import { headRefOf } from "../../events/merge-request/merge-request.ts";
import { makeServiceRef } from "../../git/service-ref.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import {
  findMergeRequestById,
  unnumberedMergeRequests,
} from "../../projections/merge-request/merge-request-query.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { withNewestSource } from "../../services/merge-request/source.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "merge-request-head";
/** A process that opens a request numbers it within seconds. */
const abandonedAfterMs = 60_000;
const countMax = 100;

/** Numbers what a process opened that did not live to number it. */
export async function numberMergeRequests({ store, db, now }: WorkerDeps): Promise<void> {
  const before = new Date(now().getTime() - abandonedAfterMs);
  const clock = () => now().toISOString();
  for (const row of await unnumberedMergeRequests(db, before, countMax)) {
    const subject = {
      kind: "MERGE_REQUEST",
      projectId: ProjectId.parse(row.project_id),
      subjectId: row.id,
      createdPosition: row.created_position,
    } as const;
    const commandId = deterministicId("number merge request", row.id);
    await assignLocalId({ store, now: clock }, subject, bySystem({ commandId }, clock()));
  }
}

/** A request has the ref that keeps its source, also when the process that opened it died. */
export const mergeRequestHead: Reactor = {
  name: "merge-request-head",
  types: new Set(Object.keys(localIdEvents)),
  react: async (recorded) => {
    const { kind, subjectId } = decode(localIdEvents, recorded).data;
    if (kind !== "MERGE_REQUEST") return [];
    return [{ queue, id: subjectId, data: { mergeRequestId: subjectId } }];
  },
};

export const mergeRequestHeadWorker = defineWorker({
  queue,
  concurrency: 2,
  payload: z.object({ mergeRequestId: z.uuid() }),
  async run({ mergeRequestId }, deps: WorkerDeps) {
    const row = await findMergeRequestById(deps.db, mergeRequestId);
    const repository = row && (await deps.git.find(row.project_id));
    if (row === undefined || row.refs_deleted || repository === undefined) return;
    const { source_commit, local_id } = await withNewestSource(deps, row);
    await makeServiceRef(repository, headRefOf(local_id), source_commit);
  },
});
