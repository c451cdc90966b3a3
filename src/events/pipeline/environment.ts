import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, ObjectId, ProjectId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";
import { JobEnvironment } from "./job-spec.ts";

/** The environment that a run of a job is for, and what is deployed there. */
export const RunEnvironment = z.object({
  environmentId: z.uuid(),
  /** Its variables are filled in. */
  name: z.string().min(1),
  action: JobEnvironment.shape.action,
  tier: z.string().nullable(),
  /** Its variables are filled in. */
  url: z.string().nullable(),
  /** Name of the job of the same pipeline that stops it. */
  onStop: z.string().nullable(),
  autoStopInSeconds: z.int().nullable(),
  /** Branch or tag, without `refs/…/`. */
  ref: z.string(),
  isTag: z.boolean(),
  commitId: ObjectId,
  /** Who deploys: who started the job, restarted it or started the pipeline, in this order. */
  userId: UserId.nullable(),
});
export type RunEnvironment = Readonly<z.output<typeof RunEnvironment>>;

const Environment = z.object({
  environmentId: z.uuid(),
  projectId: ProjectId,
  name: z.string().min(1),
});

/**
 * What is done to an environment itself. It comes into being by the first job that is for it, see
 * `JobQueued`, and is stopped by a job or by one of these.
 */
export const environmentEvents = {
  EnvironmentStopped: Environment.extend({
    /** Null: its time was over, or its branch was deleted. */
    stoppedById: UserId.nullable(),
    stoppedAt: IsoInstant,
  }),
  EnvironmentDeleted: Environment.extend({ deletedById: UserId, deletedAt: IsoInstant }),
} as const satisfies EventSchemas;

export const environmentStream = (id: string): string => streamName("environment", id);

/**
 * AVAILABLE once a job was for it; STOPPING while the job runs that stops it.
 * An environment that was stopped is AVAILABLE again after the next deployment.
 */
export const EnvironmentState = z.enum(["AVAILABLE", "STOPPING", "STOPPED"]);
export type EnvironmentState = z.output<typeof EnvironmentState>;
