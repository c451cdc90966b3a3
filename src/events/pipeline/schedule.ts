import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, ProjectId, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

const Schedule = z.object({ scheduleId: z.uuid(), projectId: ProjectId });

const Settings = z.object({
  description: z.string(),
  /** Five fields, as crontab(5). */
  cron: z.string(),
  /** IANA name. */
  timezone: z.string(),
  ref: z.string().min(1),
  isTag: z.boolean(),
  active: z.boolean(),
  /** JSON text of an object; null for none. */
  variables: Sealed.nullable(),
});
export type ScheduleSettings = Readonly<z.output<typeof Settings>>;

export const pipelineScheduleEvents = {
  /** The person who created it, changed it or took it over last owns it: it runs with their rights. */
  PipelineScheduleCreated: Schedule.extend({
    settings: Settings,
    /** Null while it is not active. */
    nextRunAt: IsoInstant.nullable(),
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  PipelineScheduleChanged: Schedule.extend({
    settings: Settings,
    nextRunAt: IsoInstant.nullable(),
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  PipelineScheduleTakenOver: Schedule.extend({
    /** Those of the settings that stay; null when another person wrote them. */
    variables: Sealed.nullable(),
    takenOverById: UserId,
    takenOverAt: IsoInstant,
  }),
  /** Its time came; whether a pipeline was created is recorded in the pipelines' own streams. */
  PipelineScheduleRan: Schedule.extend({
    dueAt: IsoInstant,
    nextRunAt: IsoInstant.nullable(),
    ranAt: IsoInstant,
  }),
  /** Whose rights it runs with may not start pipelines any more. */
  PipelineScheduleTurnedOff: Schedule.extend({ turnedOffAt: IsoInstant }),
  PipelineScheduleDeleted: Schedule.extend({ deletedById: UserId, deletedAt: IsoInstant }),
} as const satisfies EventSchemas;

export const pipelineScheduleStream = (id: string): string => streamName("pipelineSchedule", id);
