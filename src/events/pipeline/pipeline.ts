import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, MergeRequestId, ObjectId, ProjectId, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";
import { JobId, PipelineId } from "./id.ts";
import { JobSpec } from "./job-spec.ts";
import { PipelineSource } from "./source.ts";
import { PipelineStatus } from "./status.ts";

export const PlannedJob = z.object({ jobId: JobId, spec: JobSpec });
export type PlannedJob = Readonly<z.output<typeof PlannedJob>>;

/** What a pipeline runs on. */
export const PipelineOrigin = z.object({
  /** Branch or tag, without `refs/…/`; the whole name of a ref of a merge request. */
  ref: z.string().min(1),
  isTag: z.boolean(),
  commitId: ObjectId,
  /** Where the ref stood before the push; null when it was not there, or nothing was pushed. */
  beforeCommitId: ObjectId.nullable(),
  source: PipelineSource,
  /** Whose rights it has; null for a push that nobody is known to have made. */
  userId: UserId.nullable(),
  /** The job of another pipeline that started it. */
  parent: z.object({ pipelineId: PipelineId, jobId: JobId }).nullable(),
  /** The merge request that it checks. */
  mergeRequest: z
    .object({
      localId: z.int().positive(),
      sourceBranch: z.string(),
      targetBranch: z.string(),
      mergeRequestId: MergeRequestId.optional(),
      /** Of the target branch; the number counts there. */
      projectId: ProjectId.optional(),
      sourceProjectId: ProjectId.optional(),
      sourceCommit: ObjectId.optional(),
      /** What it was merged with; null: the pipeline runs on the source itself. */
      targetCommit: ObjectId.nullish(),
      /** The last commit that both branches have; left out where there is none. */
      baseCommit: ObjectId.optional(),
    })
    .nullable(),
  /** The schedule or trigger that started it. */
  startedBy: z.object({ kind: z.enum(["SCHEDULE", "TRIGGER"]), id: z.uuid() }).nullable(),
});
export type PipelineOrigin = Readonly<z.output<typeof PipelineOrigin>>;

export const pipelineEvents = {
  PipelineCreated: PipelineOrigin.extend({
    pipelineId: PipelineId,
    projectId: ProjectId,
    /** JSON text of the variables given at the start: an object. Null for none. */
    variables: Sealed.nullable(),
    /** Of `workflow: name`. */
    name: z.string().nullable(),
    /** Which jobs a newer pipeline of the ref ends. */
    autoCancel: z.enum(["conservative", "interruptible", "none"]),
    /** Whether a job that fails ends the others. */
    cancelOnFailure: z.boolean().optional(),
    /** How many jobs are planned by this event and those that follow. */
    jobs: z.int().nonnegative(),
    /** What is wrong with its file: such a pipeline has no jobs. */
    failureReason: z.string().nullable(),
    /** What has no effect in its file. */
    warnings: z.array(z.string()).optional(),
    createdAt: IsoInstant,
  }),
  /** Some of its jobs, in the order of stages; large pipelines take several of these. */
  PipelineJobsPlanned: z.object({
    pipelineId: PipelineId,
    projectId: ProjectId,
    /** Place of the first of these among all jobs, from 0. */
    from: z.int().nonnegative(),
    jobs: z.array(PlannedJob).min(1),
    plannedAt: IsoInstant,
  }),
  /** All jobs have ended, and with them the pipeline. */
  PipelineFinished: z.object({
    pipelineId: PipelineId,
    projectId: ProjectId,
    status: PipelineStatus,
    /** From the start of the first job to the end of the last. */
    durationSeconds: z.int().nonnegative(),
    failureReason: z.string().nullable(),
    finishedAt: IsoInstant,
  }),
  PipelineRestarted: z.object({
    pipelineId: PipelineId,
    projectId: ProjectId,
    restartedById: UserId.nullable(),
    restartedAt: IsoInstant,
  }),
  /** Jobs that have not ended are canceled after it, each in its own stream. */
  PipelineCanceled: z.object({
    pipelineId: PipelineId,
    projectId: ProjectId,
    /** Null: a newer pipeline made it superfluous, or its file lets a failed job end it. */
    canceledById: UserId.nullable(),
    canceledAt: IsoInstant,
  }),
  PipelineDeleted: z.object({
    pipelineId: PipelineId,
    projectId: ProjectId,
    /** Null: its lifetime was over. */
    deletedById: UserId.nullable(),
    deletedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type PipelineEvent = EventOf<typeof pipelineEvents>;

export const pipelineStream = (id: string): string => streamName("pipeline", id);
