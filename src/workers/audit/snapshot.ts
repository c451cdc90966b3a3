import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import type { LocalIdKind } from "../../events/core/local-id.ts";
import { categoryOf, idInStream } from "../../events/core/stream.ts";
import { IssueId, issueEvents } from "../../events/issue/issue.ts";
import { mergeRequestEvents } from "../../events/merge-request/merge-request.ts";
import { mergeSettingEvents } from "../../events/merge-request/merge-setting.ts";
import { projectEvents } from "../../events/project/project.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { Refusal } from "../../platform/refusal.ts";
import { readRecorded } from "../../projections/audit/read-events.ts";
import type { Projection } from "../../projections/core/projection.ts";
import { issueProjection } from "../../projections/issue/issue.ts";
import { findIssueById } from "../../projections/issue/list.ts";
import { mergeRequestProjection } from "../../projections/merge-request/merge-request.ts";
import { findMergeRequestById } from "../../projections/merge-request/merge-request-query.ts";
import { mergeSettingProjection } from "../../projections/merge-request/merge-setting.ts";
import { withReadModelsOf } from "../../projections/past/as-of.ts";
import { numberEvent } from "../../projections/past/number-event.ts";
import { eventsPerSnapshot, pastFold } from "../../projections/past/past-fold.ts";
import { findSources, type PastSource } from "../../projections/past/snapshot.ts";
import { findProjectById, projectProjection } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";

/** More are left to the next times. */
const eventsAtOnce = 32 * eventsPerSnapshot;

type Numbered = Readonly<{ project_id: string; local_id: number | null }>;
type SourceOf = (db: Knex, id: string) => Promise<PastSource | undefined>;

/** By the category of their streams; undefined for what is gone. */
const sources: Readonly<Record<string, SourceOf>> = {
  issue: thing("ISSUE", issueProjection, (db, id) => findIssueById(db, IssueId.parse(id))),
  mergeRequest: thing("MERGE_REQUEST", mergeRequestProjection, findMergeRequestById),
  mergeSetting: ofProject(mergeSettingProjection),
  project: ofProject(projectProjection),
};

/**
 * Snapshots for answers of the past, before anybody requests one: after every 32 events of an issue, a merge request
 * or the settings of a project. Shorter streams cost nothing. One that fails is made with the next.
 */
export const snapshotOfPast: Reactor = {
  name: "as-of-snapshot",
  types: new Set(
    [issueEvents, mergeRequestEvents, mergeSettingEvents, projectEvents].flatMap((events) =>
      Object.keys(events),
    ),
  ),
  batchMs: 500,
  react: (event, deps) => snapshots([event], deps),
  reactAll: snapshots,
};

async function snapshots(events: readonly Recorded[], deps: WorkerDeps): Promise<readonly Job[]> {
  const due = events.filter(({ revision }) => (revision + 1n) % BigInt(eventsPerSnapshot) === 0n);
  for (const { stream, position } of due) {
    await snapshot(stream, position, deps).catch((error: unknown) => {
      if (error instanceof Refusal) return;
      deps.log.warn({ err: error, stream }, "no snapshot of the past was made");
    });
  }
  return [];
}

async function snapshot(stream: string, position: bigint, deps: WorkerDeps): Promise<void> {
  const { db, store, vault } = deps;
  await deps.visible(position);
  const source = await sources[categoryOf(stream)]?.(db, idInStream(stream));
  if (source === undefined) return;
  const bounds = { until: { position }, countMax: eventsAtOnce };
  const { found } = await findSources(db, stream, [source], bounds);
  const fold = await pastFold(source, found[0] ?? { snapshot: undefined, happened: [] }, {
    db,
    ...bounds,
    read: async (happened) => [...(await readRecorded(store, happened)).values()],
    number: ({ kind, localId }) => numberEvent(kind, source.placeId, localId, store),
  });
  if (fold?.stop === undefined) return;
  const events = fold.events.slice(0, fold.stop.after);
  const folds = new Map([[source.projection, { ...fold, events }]]);
  const past = { ownerId: source.placeId, events: [], folds, context: { open: vault.open } };
  await withReadModelsOf(db, [source.projection], past, async () => undefined);
  await fold.keep();
}

function thing(
  kind: LocalIdKind,
  projection: Projection,
  find: (db: Knex, id: string) => Promise<Numbered | undefined>,
): SourceOf {
  return async (db, id) => {
    const row = await find(db, id);
    if (row === undefined || row.local_id === null) return undefined;
    const { project_id: placeId, local_id: localId } = row;
    return { projection, placeId, thing: { kind, localId } };
  };
}

function ofProject(projection: Projection): SourceOf {
  return async (db, id) => (await findProjectById(db, id)) && { projection, placeId: id };
}
