import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, ProjectId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

const Trigger = z.object({ triggerId: z.uuid(), projectId: ProjectId });

export const pipelineTriggerEvents = {
  /** A holder of the token starts pipelines with the rights of the user who created it. */
  PipelineTriggerCreated: Trigger.extend({
    description: z.string(),
    /** SHA-256, hex. */
    tokenHash: z.string(),
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  PipelineTriggerDeleted: Trigger.extend({ deletedById: UserId, deletedAt: IsoInstant }),
} as const satisfies EventSchemas;

export const pipelineTriggerStream = (id: string): string => streamName("pipelineTrigger", id);
