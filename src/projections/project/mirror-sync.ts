import type { Knex } from "knex";
import type { Settings } from "../../events/instance/settings.ts";
import type { MirrorType } from "../../events/project/mirror.ts";

/** How far one mirror is. Written by the workers, beside the read models; see the migration. */
export type MirrorSyncRow = Readonly<{
  project_id: string;
  mirror_id: string;
  type: MirrorType;
  started_at: Date | null;
  succeeded_at: Date | null;
  due_at: Date | null;
  /** In a row, up to now. */
  failures: number;
  error_code: string | null;
  error: string | null;
  runner: string | null;
  runner_until: Date | null;
}>;

/** Under this configuration of the mirror; the row of an earlier one is not returned. */
export function findMirrorSync(
  db: Knex,
  projectId: string,
  mirrorId: string,
): Promise<MirrorSyncRow | undefined> {
  return db<MirrorSyncRow>("mirror_sync")
    .where({ project_id: projectId, mirror_id: mirrorId })
    .first();
}

/** PUSH mirrors among these projects: project → mirror. */
export async function pushMirrors(
  db: Knex,
  projectIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await db("project")
    .whereIn("id", projectIds)
    .where({ mirror_type: "PUSH" })
    .whereNull("deleted_at")
    .whereNotNull("mirror_id")
    .select<{ id: string; mirror_id: string }[]>("id", "mirror_id");
  return new Map(rows.map(({ id, mirror_id }) => [id, mirror_id]));
}

export type MirrorIntervals = Pick<
  Settings,
  "projectUpdateLag" | "pullMirrorUpdateIntervalMinutes" | "pushMirrorUpdateIntervalMinutes"
>;

const minuteMs = 60_000;

export const intervalMs = (type: MirrorType, settings: MirrorIntervals): number =>
  minuteMs *
  (type === "PULL"
    ? settings.pullMirrorUpdateIntervalMinutes
    : settings.pushMirrorUpdateIntervalMinutes);

/** The time of the next sync: as requested or at its interval, but not within the lag of the last. */
export function nextSyncAt(
  { type, started_at, due_at, failures }: MirrorSyncRow,
  settings: MirrorIntervals,
): Date {
  if (started_at === null) return due_at ?? new Date(0);
  const started = started_at.getTime();
  // One that fails is tried again when its pause is over.
  const regular = failures === 0 ? started + intervalMs(type, settings) : Number.POSITIVE_INFINITY;
  const wanted = Math.min(due_at?.getTime() ?? Number.POSITIVE_INFINITY, regular);
  const next = Math.max(wanted, started + settings.projectUpdateLag * 1_000);
  return new Date(Number.isFinite(next) ? next : started + intervalMs(type, settings));
}
