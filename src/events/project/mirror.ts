import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, ProjectId, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

/** PULL: the project follows the other repository. PUSH: the other repository follows the project. */
export const MirrorType = z.enum(["PULL", "PUSH"]);
export type MirrorType = z.output<typeof MirrorType>;

/** The other repository, and how to be let in: `credentials` is JSON of username and token. */
export const MirrorTarget = z.object({
  type: MirrorType,
  url: z.string().min(1),
  credentials: Sealed.nullable(),
});
export type MirrorTarget = Readonly<z.output<typeof MirrorTarget>>;

export const mirrorEvents = {
  MirrorConfigured: z.object({
    /** Of this very configuration: what was begun for another one is not finished for it. */
    mirrorId: z.uuid(),
    projectId: ProjectId,
    target: MirrorTarget,
    previous: MirrorTarget.nullable(),
    configuredById: UserId,
    configuredAt: IsoInstant,
  }),
  MirrorRemoved: z.object({
    mirrorId: z.uuid(),
    projectId: ProjectId,
    target: MirrorTarget,
    removedById: UserId,
    removedAt: IsoInstant,
  }),
  MirrorSyncRequested: z.object({
    mirrorId: z.uuid(),
    projectId: ProjectId,
    requestedById: UserId,
    requestedAt: IsoInstant,
  }),
  /** Recorded once, not at every attempt: again when it fails for another reason. */
  MirrorFailed: z.object({
    mirrorId: z.uuid(),
    projectId: ProjectId,
    code: z.string(),
    reason: z.string(),
    failedAt: IsoInstant,
  }),
  MirrorRecovered: z.object({
    mirrorId: z.uuid(),
    projectId: ProjectId,
    recoveredAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type MirrorEvent = EventOf<typeof mirrorEvents>;

/** One mirror a project: the id is the project's. */
export const mirrorStream = (projectId: string): string => streamName("mirror", projectId);
