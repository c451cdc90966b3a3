import type { Knex } from "knex";
import { z } from "zod";

import { JobFailureReason } from "../../../events/pipeline/job.ts";
import { PipelineSource } from "../../../events/pipeline/source.ts";
import { PipelineStatus } from "../../../events/pipeline/status.ts";
import { artifactExpiries } from "../../../projections/agent/artifact.ts";
import type { JobRow, PipelineRow } from "../../../projections/pipeline/table.ts";
import { instant } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";

export const PipelineView = z
  .object({
    id: z.uuid(),
    localId: z.int(),
    commitId: z.string(),
    projectId: z.uuid(),
    userId: z.uuid().nullable(),
    ref: z.string().meta({ description: "Branch or tag.", examples: ["main"] }),
    failureReason: z.string().nullable(),
    warnings: z
      .array(z.string())
      .meta({ description: "What has no effect in its file; the first 20." }),
    status: PipelineStatus,
    duration: z.int().nullable().meta({ description: "Seconds." }),
    source: PipelineSource,
    startedAt: instant().nullable(),
    finishedAt: instant().nullable(),
    createdAt: instant(),
    beforeCommitId: z.string().nullable(),
    configSource: z.null().meta({ description: "Deprecated." }),
    tag: z.boolean().meta({ description: "Deprecated: always false." }),
  })
  .meta({ id: "Pipeline" });

export function pipelineView(row: PipelineRow): z.input<typeof PipelineView> {
  return toView(PipelineView, row, {
    localId: row.local_id ?? 0,
    duration: row.duration_seconds,
    configSource: null,
    tag: false,
  });
}

export const JobView = z
  .object({
    id: z.uuid(),
    localId: z.int(),
    name: z.string().meta({ examples: ["build"] }),
    stageName: z.string().meta({ examples: ["build"] }),
    ref: z.string().meta({ description: "Branch or tag.", examples: ["main"] }),
    status: PipelineStatus,
    failureReason: JobFailureReason.nullable().meta({ description: "Of FAILED and WARNING." }),
    failureMessage: z
      .string()
      .nullable()
      .meta({
        description: "More than `failureReason` says: why a `trigger` job started no pipeline.",
        examples: ["The rules of the file leave no job."],
      }),
    pipelineLocalId: z.int(),
    tag: z.boolean().meta({ description: "The pipeline runs on a tag." }),
    startedAt: instant().nullable(),
    finishedAt: instant().nullable(),
    artifactsExpireAt: instant().nullable().meta({
      description: "When the first artifact expires; null: none does.",
    }),
    erasedAt: z.null().meta({ description: "Deprecated." }),
  })
  .meta({ id: "Job" });

type PipelineOfJob = Pick<PipelineRow, "ref" | "is_tag" | "local_id">;

/** @param pipeline of the job */
export async function jobView(
  db: Knex,
  row: JobRow,
  pipeline: PipelineOfJob,
): Promise<z.input<typeof JobView>> {
  return withArtifacts(await artifactExpiries(db, [row.id]))(row, pipeline);
}

/** @param pipelineOf the pipeline of each job */
export async function jobViews<Row extends JobRow>(
  db: Knex,
  rows: readonly Row[],
  pipelineOf: (row: Row) => PipelineOfJob,
): Promise<z.input<typeof JobView>[]> {
  const ids = rows.map(({ id }) => id);
  const viewOf = withArtifacts(await artifactExpiries(db, ids));
  return rows.map((row) => viewOf(row, pipelineOf(row)));
}

const withArtifacts =
  (expiries: Awaited<ReturnType<typeof artifactExpiries>>) =>
  (row: JobRow, pipeline: PipelineOfJob): z.input<typeof JobView> =>
    toView(JobView, row, {
      localId: row.local_id ?? 0,
      stageName: row.stage,
      ref: pipeline.ref,
      pipelineLocalId: pipeline.local_id ?? 0,
      tag: pipeline.is_tag,
      artifactsExpireAt: expiries.get(row.id) ?? null,
      erasedAt: null,
    });
