import { z } from "zod";

import { jobNotFound } from "../../../commands/pipeline/job.ts";
import { pipelineNotFound } from "../../../commands/pipeline/pipeline.ts";
import { artifactProjection } from "../../../projections/agent/artifact.ts";
import { jobLogProjection } from "../../../projections/agent/job-log.ts";
import { pipelineProjection } from "../../../projections/pipeline/pipeline.ts";
import { findJob, findPipeline, findPipelineById } from "../../../projections/pipeline/query.ts";
import type { JobRow, PipelineRow } from "../../../projections/pipeline/table.ts";
import type { AsOf } from "../../core/as-of.ts";
import type { Deps } from "../../core/deps.ts";
import { oneInProject } from "../../core/one-below.ts";
import type { RequestFor } from "../../core/request.ts";

export const tag = "Pipelines";
export const base = "/project/{ownerAlias}/{projectAlias}/cicd";
/** Numbers beyond those of a column name nothing. */
const LocalId = z
  .string()
  .regex(/^[1-9]\d{0,9}$/)
  .meta({ examples: ["1"] })
  .transform(Number)
  .refine((number) => number < 2 ** 31);
export const LocalIdParams = z.object({ localId: LocalId });

export const reading = { tag, scope: "PROJECT_READ", access: "project:GUEST" } as const;
export const writing = { tag, scope: "PROJECT_WRITE", access: "project:DEVELOPER" } as const;

/** A job is found by its number, and its pipeline by the job. */
export const jobsAsOf: AsOf = {
  readModels: [pipelineProjection, artifactProjection, jobLogProjection],
  numbers: ["PIPELINE", "JOB"],
};

/** Of a pipeline that nothing but its ref leads to. */
export const plainOrigin = {
  beforeCommitId: null,
  parent: null,
  mergeRequest: null,
  startedBy: null,
} as const;

type Within = Pick<RequestFor<"project:GUEST">, "project">;

/** @throws Refusal 404, also for a pipeline of another project */
export const mustFindPipeline = oneInProject(findPipeline, pipelineNotFound);

export type FoundJob = Readonly<{ job: JobRow; pipeline: PipelineRow }>;

/** @throws Refusal 404, also for a job of another project */
export async function mustFindJob(
  { db }: Pick<Deps, "db">,
  { project }: Within,
  localId: number,
): Promise<FoundJob> {
  const job = await findJob(db, project.id, localId);
  const pipeline = job && (await findPipelineById(db, job.pipeline_id));
  if (job === undefined || pipeline === undefined) throw jobNotFound();
  return { job, pipeline };
}
