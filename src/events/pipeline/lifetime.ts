import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/** Where none was ever set. */
export const lifetimeDaysDefault = 365;

export const pipelineLifetimeEvents = {
  /** Pipelines of all projects of a team or company are deleted when they are so old. */
  PipelineLifetimeSet: z.object({
    settingId: z.uuid(),
    parentId: z.uuid(),
    parentType: z.enum(["COMPANY", "TEAM"]),
    lifetimeDays: z.int().positive(),
    enabled: z.boolean(),
    setById: UserId,
    setAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type PipelineLifetimeEvent = EventOf<typeof pipelineLifetimeEvents>;

export const pipelineLifetimeStream = (parentId: string): string =>
  streamName("pipelineLifetime", parentId);
