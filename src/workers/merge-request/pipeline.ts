import type { Knex } from "knex";
import { z } from "zod";

import { EventMetadata } from "../../events/core/event.ts";
import { ObjectId, UserId } from "../../events/core/ids.ts";
import { localIdEvents } from "../../events/core/local-id.ts";
import { idInStream } from "../../events/core/stream.ts";
import {
  mergeRequestEvents,
  mergeRequestStream,
} from "../../events/merge-request/merge-request.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import {
  findMergeRequestById,
  openMergeRequestsFrom,
} from "../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { whoMovedRef } from "../../projections/repository/git-ref.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import {
  begunPipeline,
  startMergeRequestPipeline,
} from "../../services/merge-request/start-pipeline.ts";
import { startPipeline } from "../../services/pipeline/start.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";
import { creationSlots, creationsAtOnce } from "../pipeline/creation-slot.ts";
import { isSkipped } from "../pipeline/push.ts";

const queue = "merge-request-pipeline";

/** An opened request, and each new version of its source, has a pipeline of its own. */
export const mergeRequestPipeline: Reactor = {
  name: "merge-request-pipeline",
  types: new Set(["LocalIdAssigned", "MergeRequestSourceMoved"]),
  async react({ id, type, data, stream, position, metadata }) {
    const isOpening = type === "LocalIdAssigned";
    const opened = isOpening ? localIdEvents.LocalIdAssigned.parse(data) : undefined;
    if (opened !== undefined && opened.kind !== "MERGE_REQUEST") return [];
    const moved = isOpening ? undefined : mergeRequestEvents.MergeRequestSourceMoved.parse(data);
    const mergeRequestId = opened?.subjectId ?? idInStream(stream);
    const sourceCommit = moved?.sourceCommit ?? null;
    const job = { mergeRequestId, sourceCommit, metadata, eventId: id, position: String(position) };
    return [{ queue, id, data: job }];
  },
  coveredBy: ({ data }) => String(data["mergeRequestId"]),
};

const Payload = z.object({
  mergeRequestId: z.uuid(),
  /** Null: the request was opened. */
  sourceCommit: ObjectId.nullable(),
  metadata: EventMetadata,
  eventId: z.string(),
  position: z.string(),
});

export const mergeRequestPipelineWorker = defineWorker({
  queue,
  concurrency: creationsAtOnce,
  payload: Payload,
  async run(payload, deps, signal) {
    await deps.visible(BigInt(payload.position));
    const row = await findMergeRequestById(deps.db, payload.mergeRequestId);
    if (row === undefined) return;
    const user = await startedFor(deps, row, payload.sourceCommit);
    await creationSlots.run(() => create(payload, deps), {
      caller: user ?? row.project_id,
      signal,
    });
  },
});

const startedFor = async (
  { db }: Pick<WorkerDeps, "db">,
  row: MergeRequestRow,
  sourceCommit: ObjectId | null,
): Promise<UserId | null> => (sourceCommit === null ? row.author_id : pusherOf(db, row));

/** Reads the request once it has a slot: it may be closed, and its user lose rights, while it waits. */
async function create(
  { mergeRequestId, sourceCommit, metadata, eventId }: z.output<typeof Payload>,
  deps: WorkerDeps,
): Promise<void> {
  const commandId = deterministicId("pipeline of merge request", eventId);
  const { push: _, ...cause } = metadata;
  const envelope = { ...cause, commandId, causationId: eventId };
  const begun = await begunPipeline(deps, envelope);
  if (begun !== undefined) {
    await startPipeline(deps, begun);
    return;
  }
  const row = await findMergeRequestById(deps.db, mergeRequestId);
  if (row === undefined) return;
  // A newer version has a job of its own, with the rights of the user who pushed it.
  if (row.source_commit !== (sourceCommit ?? (await openedWith(deps.store, row)))) return;
  const repository = await deps.git.find(row.project_id);
  const commit = await repository?.objects.commit(row.source_commit);
  if (commit === undefined || isSkipped(commit.message)) return;
  if (sourceCommit !== null && !(await isStartedByPush(deps, row))) return;
  const userId = await startedFor(deps, row, sourceCommit);
  // Without a known pusher the pipeline would have no rights, so none is started.
  if (userId !== null) await startMergeRequestPipeline(deps, row, { userId, metadata: envelope });
}

/** The head of the source that the command of the author saw. */
async function openedWith(store: EventStore, { id }: MergeRequestRow): Promise<ObjectId | null> {
  for await (const { type, data } of store.readStream(mergeRequestStream(id), 0n, 1)) {
    if (type === "MergeRequestOpened") return mergeRequestEvents[type].parse(data).sourceCommit;
  }
  return null;
}

/** Of one push, for the requests that have been open longest; others are started by request. */
export const startedByPushMax = 10;

async function isStartedByPush(
  { db, log }: Pick<WorkerDeps, "db" | "log">,
  row: MergeRequestRow,
): Promise<boolean> {
  const { source_project_id: projectId, source_branch: branch } = row;
  const source = { projectId, branch, countMax: startedByPushMax };
  if ((await openMergeRequestsFrom(db, source)).some(({ id }) => id === row.id)) return true;
  const leftOut = { projectId: row.project_id, mergeRequest: row.local_id };
  const started = { sourceProjectId: projectId, branch, startedByPushMax };
  log.warn({ ...leftOut, ...started }, "push starts no pipeline of this merge request");
  return false;
}

async function pusherOf(db: Knex, row: MergeRequestRow): Promise<UserId | null> {
  const ref = branchPrefix + row.source_branch;
  const moved = await whoMovedRef(db, row.source_project_id, ref, row.source_commit);
  return moved === null ? null : UserId.parse(moved);
}
