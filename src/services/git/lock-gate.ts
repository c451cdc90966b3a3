import type { Knex } from "knex";

import { type PushGate, pathsTouched, type RefMove } from "../../git/push/gate.ts";
import {
  hasLocksOfOthers,
  type LfsLockRow,
  lockedByOthers,
} from "../../projections/git/lfs-lock.ts";

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

/**
 * Refuses a push that changes files which others have locked, by new commits or by moving a branch. Without a
 * lock of others it reads nothing of the push.
 */
export function lockGate(
  projectId: string,
  userId: string | null,
  commands: readonly RefMove[],
  { hasLocks, lockedByOthers: find }: Locking,
): PushGate {
  return async (quarantine) => {
    if (commands.every(({ after }) => after === null)) return [];
    if (!(await hasLocks(projectId, userId))) return [];
    const paths = [...(await pathsTouched(quarantine, commands))];
    const locked = await find(projectId, { userId, paths });
    return locked.map((lock) => `${lock.path} is locked by ${lock.locked_by_alias}`);
  };
}
