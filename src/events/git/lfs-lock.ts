import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, LfsLockId, ProjectId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/** Who alone may change a file, on all branches. */
export const lfsLockEvents = {
  LfsFileLocked: z.object({
    lockId: LfsLockId,
    projectId: ProjectId,
    path: z.string().min(1),
    lockedById: UserId,
    lockedAt: IsoInstant,
  }),
  LfsFileUnlocked: z.object({
    lockId: LfsLockId,
    path: z.string().min(1),
    /** By another user than the one who locked it. */
    forced: z.boolean(),
    unlockedById: UserId,
    unlockedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

/** Locks of one file follow each other; `digest` is that of its path, which may hold any character. */
export const lfsLockStreamId = (projectId: string, digest: string): string =>
  `${projectId}~${digest}`;

export const lfsLockStream = (id: string): string => streamName("lfsLock", id);
