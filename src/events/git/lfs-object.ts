import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, LfsOid, ProjectId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/** Which LFS objects a project has: only these are given to who may read it. */
export const lfsObjectEvents = {
  /** Somebody brought its bytes. */
  LfsObjectStored: z.object({
    projectId: ProjectId,
    oid: LfsOid,
    bytes: z.int().nonnegative(),
    storedById: UserId,
    storedAt: IsoInstant,
  }),
  /** A fork begins with what the project it was made from has at that moment. */
  LfsObjectsInherited: z.object({
    projectId: ProjectId,
    fromProjectId: ProjectId,
    inheritedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type LfsObjectEvent = EventOf<typeof lfsObjectEvents>;

/** What happened to one object in one project. */
export const lfsObjectId = (projectId: string, oid: string): string => `${projectId}~${oid}`;
export const lfsInheritanceId = (projectId: string): string => `${projectId}~inherited`;

export const lfsObjectStream = (id: string): string => streamName("lfsObject", id);
