import { z } from "zod";

import { currentState } from "../../commands/core/handle.ts";
import { webhookDelivery } from "../../commands/webhook/delivery.ts";
import { webhook } from "../../commands/webhook/webhook.ts";
import { findMergeRequestById } from "../../projections/merge-request/merge-request-query.ts";
import { findJobById, findPipelineById } from "../../projections/pipeline/query.ts";
import { findSchedule } from "../../projections/pipeline/schedule.ts";
import { findProjectById } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

type OwnerDeps = Pick<WorkerDeps, "db" | "store">;

/** Whose share a job takes, by its data; undefined when these are malformed, or name what is gone. */
export type OwnerOf = (data: unknown, deps: OwnerDeps) => Promise<string | undefined>;

/** The owner of the jobs of a queue, or why its jobs need no share. */
export type Ownership = OwnerOf | Readonly<{ unshared: string }>;

/** The owner as far as the data are of this form; the worker refuses others. */
const owned =
  <Shape extends z.core.$ZodShape>(
    shape: Shape,
    ownerOf: (
      data: z.output<z.ZodObject<Shape>>,
      deps: OwnerDeps,
    ) => Promise<string | null | undefined>,
  ): OwnerOf =>
  async (data, deps) => {
    const parsed = z.object(shape).safeParse(data);
    return parsed.success ? ((await ownerOf(parsed.data, deps)) ?? undefined) : undefined;
  };

/** Of a deleted project, its id. */
const ownerOfProject = async ({ db }: OwnerDeps, projectId: string): Promise<string> =>
  (await findProjectById(db, projectId))?.owner_user_id ?? projectId;

export const ofProject = owned({ projectId: z.uuid() }, ({ projectId }, deps) =>
  ownerOfProject(deps, projectId),
);

export const ofFork = owned({ forkId: z.uuid() }, ({ forkId }, deps) =>
  ownerOfProject(deps, forkId),
);

/** Who pushed; of a mirror, who owns the project. */
export const ofPush = owned(
  {
    projectId: z.uuid(),
    metadata: z.object({ actor: z.object({ userId: z.string().nullable() }) }),
  },
  async ({ projectId, metadata }, deps) =>
    metadata.actor.userId ?? (await ownerOfProject(deps, projectId)),
);

/** Who opened the request: where it comes from a fork, the project has another owner. */
export const ofMergeRequest = owned(
  { mergeRequestId: z.uuid() },
  async ({ mergeRequestId }, { db }) => (await findMergeRequestById(db, mergeRequestId))?.author_id,
);

/** For whom the pipeline runs. */
export const ofPipeline = owned({ pipelineId: z.uuid() }, ({ pipelineId }, deps) =>
  userOfPipeline(deps, pipelineId),
);

export const ofPipelineJob = owned({ jobId: z.uuid() }, async ({ jobId }, deps) => {
  const job = await findJobById(deps.db, jobId);
  return job && (job.played_by_id ?? job.reset_by_id ?? userOfPipeline(deps, job.pipeline_id));
});

async function userOfPipeline(deps: OwnerDeps, pipelineId: string): Promise<string | undefined> {
  const pipeline = await findPipelineById(deps.db, pipelineId);
  return pipeline && (pipeline.user_id ?? ownerOfProject(deps, pipeline.project_id));
}

export const ofSchedule = owned(
  { projectId: z.uuid(), scheduleId: z.uuid() },
  async ({ projectId, scheduleId }, { db }) =>
    (await findSchedule(db, projectId, scheduleId))?.owner_id,
);

export const ofWebhook = owned({ webhookId: z.uuid() }, async ({ webhookId }, deps) => {
  const state = await currentState(deps.store, webhook, webhookId);
  return "projectId" in state ? ownerOfProject(deps, state.projectId) : webhookId;
});

export const ofDelivery = owned({ deliveryId: z.uuid() }, async ({ deliveryId }, deps) => {
  const state = await currentState(deps.store, webhookDelivery, deliveryId);
  return "projectId" in state ? ownerOfProject(deps, state.projectId) : deliveryId;
});
