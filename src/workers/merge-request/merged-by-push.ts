import { z } from "zod";

import { decode } from "../../events/core/decode.ts";
import { EventMetadata, type Recorded } from "../../events/core/event.ts";
import { ObjectId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { repositoryEvents } from "../../events/repository/repository.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { Refusal } from "../../platform/refusal.ts";
import {
  findBegunMerges,
  findMergeRequestById,
  newestOpenInto,
  openIntoFrom,
} from "../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { broughtBy } from "../../services/merge-request/brought-by-push.ts";
import { keepMerge } from "../../services/merge-request/finish-merge.ts";
import { recordMergeByPush } from "../../services/merge-request/record-merge-by-push.ts";
import { withNewestSource } from "../../services/merge-request/source.ts";
import { commitsBetween } from "../../services/merge-request/source-commits.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";
import { closeIssuesOf } from "./close-issues.ts";

const pushed = "merge-request-pushed";
const recorded = "merge-request-pushed-end";
/** Commits with the same changes are looked for in the newest requests only. */
const comparedMax = 50;
const comparingMsMax = 60_000;

/**
 * A push to a target branch that brings what requests into it have makes them merged: one job a push finds out. What
 * follows from that has a job of its own.
 */
export const mergeRequestPushed: Reactor = {
  name: "merge-request-pushed",
  types: new Set(["BranchUpdated", "MergeRequestMergedByPush"]),
  react: async (event, deps) => {
    if (event.type === "BranchUpdated") return pushJob(event, deps);
    const mergeRequestId = idInStream(event.stream);
    const { metadata, position } = event;
    const data = { mergeRequestId, metadata, position: String(position) };
    return [{ queue: recorded, id: event.id, data }];
  },
};

async function pushJob(event: Recorded, deps: WorkerDeps): Promise<readonly Job[]> {
  const { type, data } = decode(repositoryEvents, event);
  if (type !== "BranchUpdated") return [];
  const { branch, before, after, changedById, changedAt } = data;
  const projectId = idInStream(event.stream);
  await deps.visible(event.position);
  const openedBefore = event.position;
  const [open] = await newestOpenInto(deps.db, { projectId, branch, openedBefore, countMax: 1 });
  if (open === undefined) return [];
  const of = { projectId, branch, before, after, changedById, changedAt };
  const { push: _, ...metadata } = event.metadata;
  const places = { revision: String(event.revision), position: String(event.position) };
  const job = { ...of, metadata, ...places, eventId: event.id };
  return [{ queue: pushed, id: event.id, data: job }];
}

const Place = z.string().transform(BigInt);

const Payload = z.object({
  projectId: z.uuid(),
  branch: z.string(),
  before: ObjectId,
  after: ObjectId,
  changedById: UserId.nullable(),
  changedAt: z.iso.datetime(),
  metadata: EventMetadata,
  revision: Place,
  position: Place,
  eventId: z.string(),
});
type Payload = z.output<typeof Payload>;

export const mergeRequestPushedWorker = defineWorker({
  queue: pushed,
  concurrency: 2,
  payload: Payload,
  async run(payload, deps: WorkerDeps, signal) {
    const { projectId, branch, before, after, position, metadata } = payload;
    await deps.visible(position);
    const repository = await deps.git.find(projectId);
    if (repository === undefined) return;
    const brought = await commitsBetween(repository, before, after);
    if (brought.length === 0) return;
    const into = { projectId, branch };
    const from = await openIntoFrom(deps.db, into, brought);
    // What was opened later had nothing of this push before it.
    const of = { ...into, openedBefore: position, countMax: comparedMax };
    const newest = await newestOpenInto(deps.db, of);
    // The merge that moved the branch is recorded as what it is.
    const begun = await findBegunMerges(deps.db, [metadata.commandId]);
    const own = new Set(begun.map(({ merge_request_id }) => merge_request_id));
    const rows = new Map([...from, ...newest].map((row) => [row.id, row]));
    const endsAt = deps.now().getTime() + comparingMsMax;
    let failure: unknown;
    for (const [index, row] of [...rows.values()].entries()) {
      signal.throwIfAborted();
      if (own.has(row.id) || row.created_position > position) continue;
      if (index >= from.length && deps.now().getTime() > endsAt) break;
      try {
        await look(deps, repository, row, payload);
      } catch (error) {
        // The newest version of this one has no room in the project. The others are compared all the same.
        if (!(error instanceof Refusal) || error.kind !== "unprocessable") failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
  },
});

type Repository = NonNullable<Awaited<ReturnType<WorkerDeps["git"]["find"]>>>;

async function look(
  deps: WorkerDeps,
  repository: Repository,
  found: MergeRequestRow,
  payload: Payload,
): Promise<void> {
  const row = await withNewestSource(deps, found);
  if (row.status !== "OPENED" || row.target_branch !== payload.branch) return;
  const { before, after, revision, changedById, eventId, metadata } = payload;
  const of = { pushId: metadata.commandId, revision, at: new Date(payload.changedAt) };
  const mergeCommit = await broughtBy(deps.db, repository, row, { ...of, before, after });
  if (mergeCommit === undefined) return;
  const merge = { targetBefore: before, mergeCommit: ObjectId.parse(mergeCommit), by: changedById };
  await recordMergeByPush(deps, row, { ...merge, cause: { id: eventId, metadata } });
}

/** Once the request is merged: what else a merge does. Each step may be repeated. */
export const mergeRequestPushedEndWorker = defineWorker({
  queue: recorded,
  concurrency: 2,
  payload: z.object({ mergeRequestId: z.uuid(), metadata: EventMetadata, position: Place }),
  async run({ mergeRequestId, metadata, position }, deps: WorkerDeps) {
    await deps.visible(position);
    const row = await findMergeRequestById(deps.db, mergeRequestId);
    if (row?.merge_commit == null) return;
    await keepMerge(deps, row, { mergeCommit: row.merge_commit, metadata }, position);
    await closeIssuesOf(deps, mergeRequestId);
  },
});
