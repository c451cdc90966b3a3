import type { Knex } from "knex";

import { type PushGate, pathsTouched } from "../platform/git/push-gate.ts";
import { hasLocksOfOthers, type LfsLockRow, lockedByOthers } from "../projections/lfs-lock.ts";

export type Locking = Readonly<{
  /** Whether a push of this user has to be looked into at all. */
  hasLocks: (projectId: string, userId: string | null) => Promise<boolean>;
  /** Of these paths, those that others have locked. */
  lockedByOthers: (
    projectId: string,
    wanted: Readonly<{ userId: string | null; paths: readonly string[] }>,
  ) => Promise<readonly LfsLockRow[]>;
}>;

export function lockingOn(db: Knex): Locking {
  return {
    hasLocks: (projectId, userId) => hasLocksOfOthers(db, projectId, userId),
    lockedByOthers: (projectId, wanted) => lockedByOthers(db, projectId, wanted),
  };
}

type Asked = Readonly<{ after: string | null }>;

/**
 * Refuses a push whose new commits change files that others have locked, on whatever branch. Undefined
 * when nobody else has locked anything: git is then not held up.
 */
export async function lockGate(
  projectId: string,
  userId: string | null,
  commands: readonly Asked[],
  { hasLocks, lockedByOthers: find }: Locking,
): Promise<PushGate | undefined> {
  const tips = commands.flatMap(({ after }) => after ?? []);
  if (tips.length === 0 || !(await hasLocks(projectId, userId))) return undefined;
  return async (quarantine) => {
    const paths = [...(await pathsTouched(quarantine, tips))];
    const locked = await find(projectId, { userId, paths });
    return locked.map((lock) => `${lock.path} is locked by ${lock.locked_by_alias}`);
  };
}
