import type { LfsLockId, ProjectId, UserId } from "../../events/core/ids.ts";
import { lfsLockEvents, lfsLockStream } from "../../events/git/lfs-lock.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

export type LfsLockCommand =
  | Readonly<{
      type: "LockFile";
      lockId: LfsLockId;
      projectId: ProjectId;
      path: string;
      by: UserId;
      at: string;
    }>
  | Readonly<{
      type: "UnlockFile";
      lockId: LfsLockId;
      /** Removes the lock of another user as well; the caller has checked that this is allowed. */
      force: boolean;
      by: UserId;
      at: string;
    }>;

export type LfsLockState = Readonly<{
  lock: Readonly<{ lockId: LfsLockId; path: string; lockedById: UserId }> | undefined;
  /** Whose unlocking needs no repetition. */
  unlocked: ReadonlySet<LfsLockId>;
}>;

export const lfsLock: Slice<LfsLockState, LfsLockCommand, typeof lfsLockEvents> = {
  events: lfsLockEvents,
  stream: lfsLockStream,
  initialState: { lock: undefined, unlocked: new Set() },

  decide({ lock, unlocked }, command) {
    switch (command.type) {
      case "LockFile": {
        if (lock !== undefined) {
          throw new Refusal("conflict", "lfs_lock.exists", "The file is locked already.");
        }
        const { type: _, by: lockedById, at: lockedAt, ...rest } = command;
        return [{ type: "LfsFileLocked", data: { ...rest, lockedById, lockedAt } }];
      }
      case "UnlockFile": {
        const { lockId, force, by: unlockedById, at: unlockedAt } = command;
        if (unlocked.has(lockId)) return [];
        if (lock?.lockId !== lockId) {
          throw new Refusal("not_found", "lfs_lock.not_found", "There is no such lock.");
        }
        const forced = lock.lockedById !== unlockedById;
        if (forced && !force) {
          const message = "The file is locked by another user.";
          throw new Refusal("forbidden", "lfs_lock.of_others", message);
        }
        const data = { lockId, path: lock.path, forced, unlockedById, unlockedAt };
        return [{ type: "LfsFileUnlocked", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve({ unlocked }, event) {
    switch (event.type) {
      case "LfsFileLocked": {
        const { lockId, path, lockedById } = event.data;
        return { lock: { lockId, path, lockedById }, unlocked };
      }
      case "LfsFileUnlocked":
        return { lock: undefined, unlocked: new Set([event.data.lockId]) };
      default:
        return unreachable(event);
    }
  },
};
