import type { Knex } from "knex";

import type { MirrorType } from "../../events/project/mirror.ts";
import {
  intervalMs,
  type MirrorIntervals,
  type MirrorSyncRow,
} from "../../projections/project/mirror-sync.ts";

export type MirrorKey = Readonly<{ projectId: string; mirrorId: string }>;

/** The worker of a mirror renews its turn before this time is over. */
export const turnMs = 60_000;
const mirrorsAtOnce = 1_000;

/** Schedules a sync of the present configuration for the time, unless an earlier one is due. */
export async function scheduleSync(
  db: Knex,
  { projectId: project_id, mirrorId: mirror_id }: MirrorKey,
  type: MirrorType,
  at: Date,
): Promise<void> {
  const fresh = { project_id, mirror_id, type, due_at: at };
  await db.transaction(async (tx) => {
    // The state of an earlier configuration is reset; a worker on it finds that it lost the lease.
    await tx<MirrorSyncRow>("mirror_sync")
      .where({ project_id })
      .whereNot({ mirror_id })
      .update({ ...fresh, ...unsynced });
    await tx("mirror_sync")
      .insert(fresh)
      .onConflict("project_id")
      .merge({ due_at: tx.raw("least(mirror_sync.due_at, excluded.due_at)") });
  });
}

const unsynced = {
  started_at: null,
  succeeded_at: null,
  failures: 0,
  error_code: null,
  error: null,
  runner: null,
  runner_until: null,
} as const;

export async function dropSync(db: Knex, projectId: string, mirrorId?: string): Promise<void> {
  const query = db<MirrorSyncRow>("mirror_sync").where({ project_id: projectId });
  if (mirrorId !== undefined) query.where({ mirror_id: mirrorId });
  await query.delete();
}

/** Takes the lease of a mirror when it is free: one worker of all processes syncs a mirror at a time. */
export async function takeTurn(
  db: Knex,
  { projectId, mirrorId }: MirrorKey,
  runner: string,
  now: Date,
): Promise<boolean> {
  const taken = await db("mirror_sync")
    .where({ project_id: projectId, mirror_id: mirrorId })
    .where((free) => free.whereNull("runner_until").orWhere("runner_until", "<", db.raw("now()")))
    .update({ runner, runner_until: until(db), started_at: now, due_at: null });
  return taken > 0;
}

/** False when the lease was lost or the mirror was configured anew: the work must stop. */
export async function keepTurn(db: Knex, key: MirrorKey, runner: string): Promise<boolean> {
  const kept = await db("mirror_sync")
    .where({ project_id: key.projectId, mirror_id: key.mirrorId, runner })
    .whereExists(
      db("project")
        .where({ id: key.projectId, mirror_id: key.mirrorId })
        .whereNull("deleted_at")
        .select(db.raw("1")),
    )
    .update({ runner_until: until(db) });
  return kept > 0;
}

const until = (db: Knex) => db.raw("now() + ? * interval '1 millisecond'", [turnMs]);

type Failure = Readonly<{ code: string; reason: string }>;
type Ended =
  /** `but`: a part that failed and that a retry would not complete. */
  | Readonly<{ how: "succeeded"; at: Date; but: Failure | undefined }>
  | Readonly<{ how: "failed"; failure: Failure; retryAt: Date }>
  /** By a process that must end: another one repeats the sync. */
  | Readonly<{ how: "stopped"; at: Date }>;

/** Releases the lease. A sync that was requested meanwhile stays due. */
export async function endTurn(db: Knex, runner: string, ended: Ended): Promise<void> {
  await db("mirror_sync")
    .where({ runner })
    .update({ runner: null, runner_until: null, ...changeAt(db, ended) });
}

function changeAt(db: Knex, ended: Ended): object {
  switch (ended.how) {
    case "succeeded":
      return { succeeded_at: ended.at, failures: 0, ...errorColumns(ended.but) };
    case "failed":
      return {
        ...errorColumns(ended.failure),
        due_at: ended.retryAt,
        failures: db.raw("failures + 1"),
      };
    case "stopped":
      return { due_at: ended.at };
  }
}

const errorColumns = (failure: Failure | undefined) => ({
  error_code: failure?.code ?? null,
  error: failure?.reason ?? null,
});

/** Mirrors that are due and have no worker, including those whose worker died. */
export function dueMirrors(
  db: Knex,
  settings: MirrorIntervals,
  now: Date,
): Promise<readonly Pick<MirrorSyncRow, "project_id" | "started_at">[]> {
  const ago = (ms: number): Date => new Date(now.getTime() - ms);
  return db<MirrorSyncRow>("mirror_sync")
    .join("project", (join) =>
      join
        .on("project.id", "mirror_sync.project_id")
        .andOn("project.mirror_id", "mirror_sync.mirror_id"),
    )
    .whereNull("project.deleted_at")
    .where((free) => free.whereNull("runner_until").orWhere("runner_until", "<", db.raw("now()")))
    .where((due) => {
      due.where("due_at", "<=", now).orWhereNotNull("runner");
      for (const type of ["PULL", "PUSH"] as const) {
        due.orWhere((regular) =>
          regular
            .where({ type, failures: 0 })
            .where("started_at", "<=", ago(intervalMs(type, settings))),
        );
      }
    })
    .limit(mirrorsAtOnce)
    .select("mirror_sync.project_id", "started_at");
}
