import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, LfsOid, ProjectId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/** Objects that one event names. */
export const lfsInheritedMax = 1_000;

/** Which LFS objects a project has: only these are given to who may read it. */
export const lfsObjectEvents = {
  /** A user uploaded its bytes. */
  LfsObjectStored: z.object({
    projectId: ProjectId,
    oid: LfsOid,
    bytes: z.int().nonnegative(),
    storedById: UserId,
    storedAt: IsoInstant,
  }),
  /**
   * A fork begins with what its commits point to, and commits that a merge request brings from a fork come with what
   * they point to. Older events name no objects: they mean all that the other project had by then.
   */
  LfsObjectsInherited: z.object({
    projectId: ProjectId,
    fromProjectId: ProjectId,
    objects: z
      .array(z.object({ oid: LfsOid, bytes: z.int().nonnegative() }))
      .max(lfsInheritedMax)
      .optional(),
    inheritedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

/** What happened to one object in one project. */
export const lfsObjectId = (projectId: string, oid: string): string => `${projectId}~${oid}`;
/** @param key of what is inherited: the same comes once */
export const lfsInheritanceId = (projectId: string, key: string): string =>
  `${projectId}~inherited~${key}`;

export const lfsObjectStream = (id: string): string => streamName("lfsObject", id);
