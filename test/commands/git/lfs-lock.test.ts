import { lfsLock } from "../../../src/commands/git/lfs-lock.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { LfsLockId, ProjectId, UserId } from "../../../src/events/core/ids.ts";
import type { lfsLockEvents } from "../../../src/events/git/lfs-lock.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type LfsLockEvent = EventOf<typeof lfsLockEvents>;

const given = specify(lfsLock);
const projectId = ProjectId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const anna = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const boris = UserId.parse("8d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const idOf = (n: number) => LfsLockId.parse(deterministicId("lock", n));
const path = "art/hero.psd";

const lock = (n: number, by = anna) =>
  ({ type: "LockFile", lockId: idOf(n), projectId, path, by, at }) as const;
const locked = (n: number, by = anna): LfsLockEvent => ({
  type: "LfsFileLocked",
  data: { lockId: idOf(n), projectId, path, lockedById: by, lockedAt: at },
});
const unlock = (n: number, by = anna, force = false) =>
  ({ type: "UnlockFile", lockId: idOf(n), force, by, at }) as const;
const unlocked = (n: number, by = anna, forced = false): LfsLockEvent => ({
  type: "LfsFileUnlocked",
  data: { lockId: idOf(n), path, forced, unlockedById: by, unlockedAt: at },
});

describe("locking a file", () => {
  it("is done by one at a time", () => {
    given().when(lock(1)).gives(locked(1));
    given(locked(1)).when(lock(2, boris)).refuses("lfs_lock.exists");
    given(locked(1)).when(lock(2)).refuses("lfs_lock.exists");
    given(locked(1), unlocked(1)).when(lock(2, boris)).gives(locked(2, boris));
  });
});

describe("unlocking a file", () => {
  it("is for who locked it, once", () => {
    given(locked(1)).when(unlock(1)).gives(unlocked(1));
    given(locked(1), unlocked(1)).when(unlock(1)).givesNothing();
  });

  it("is refused to others, unless they may force it", () => {
    given(locked(1)).when(unlock(1, boris)).refuses("lfs_lock.of_others");
    given(locked(1))
      .when(unlock(1, boris, true))
      .gives(unlocked(1, boris, true));
  });

  it("names the lock: a later one of another user stays", () => {
    given(locked(1), unlocked(1), locked(2, boris))
      .when(unlock(1, anna, true))
      .givesNothing();
    given(locked(2, boris))
      .when(unlock(1, anna, true))
      .refuses("lfs_lock.not_found");
    given().when(unlock(1)).refuses("lfs_lock.not_found");
  });
});
