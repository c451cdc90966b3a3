import { z } from "zod";
import { artifact, artifactNotFound } from "../../../commands/agent/artifact.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  type ArtifactRow,
  findArtifact,
  type ListedArtifact,
  listArtifacts,
  traceName,
} from "../../../projections/agent/artifact.ts";
import { findJobLog } from "../../../projections/agent/job-log.ts";
import type { JobRow } from "../../../projections/pipeline/table.ts";
import type { Deps } from "../../core/deps.ts";
import { openPortion } from "../../core/file/referred-blob.ts";
import { listed } from "../../core/paging.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { instant } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";
import {
  base,
  jobsAsOf,
  LocalIdParams,
  mustFindJob,
  mustFindPipeline,
  reading,
  writing,
} from "../pipeline/found.ts";

export const ArtifactView = z
  .object({
    id: z.uuid(),
    fileName: z.string(),
    downloadUrl: z.string().meta({ description: "Path." }),
    size: z.int().meta({ description: "Bytes." }),
    fileType: z
      .string()
      .meta({ description: "`archive`, the kind of a report, or `trace` for the log." }),
    expireAt: instant().nullable().meta({ description: "Null: it does not expire." }),
    locked: z.boolean(),
    jobLocalId: z.int(),
  })
  .meta({ id: "JobArtifact" });

type Names = Readonly<{ ownerAlias: string; projectAlias: string }>;

const viewOf =
  ({ ownerAlias, projectAlias }: Names) =>
  (row: ListedArtifact): z.input<typeof ArtifactView> => {
    const job = `/project/${ownerAlias}/${projectAlias}/cicd/job/${row.job_local_id ?? 0}`;
    return toView(ArtifactView, row, {
      downloadUrl: `${job}/artifact/${row.id}/download`,
      size: Number(row.bytes),
      expireAt: row.locked ? null : row.expire_at,
      jobLocalId: row.job_local_id ?? 0,
    });
  };

const listing = {
  ...reading,
  method: "get",
  params: LocalIdParams,
  list: "restPipelineJobArtifactModelList",
  reply: ArtifactView,
} as const;

const ofJob = route({
  ...listing,
  path: `${base}/job/{localId}/artifacts`,
  operationId: "listJobArtifacts",
  asOf: jobsAsOf,
  summary: "List the artifacts of a job",
  async handle({ params, page, request }, deps) {
    const { job } = await mustFindJob(deps, request, params.localId);
    return listed(listArtifacts(deps.db, { job_id: job.id }, page), viewOf(params));
  },
});

const ofPipeline = route({
  ...listing,
  path: `${base}/pipeline/{localId}/artifacts`,
  operationId: "listPipelineArtifacts",
  asOf: jobsAsOf,
  summary: "List the artifacts of all jobs of a pipeline",
  async handle({ params, page, request }, deps) {
    const { id } = await mustFindPipeline(deps, request, params.localId);
    return listed(listArtifacts(deps.db, { pipeline_id: id }, page), viewOf(params));
  },
});

const download = route({
  ...reading,
  method: "get",
  path: `${base}/job/{localId}/artifact/{artifactUuid}/download`,
  operationId: "downloadArtifact",
  summary: "Download an artifact",
  description: "Answers parts of it to a request with Range.",
  params: LocalIdParams,
  reply: "stream",
  async handle({ params, request }, deps) {
    const { job } = await mustFindJob(deps, request, params.localId);
    const find = () => mustFindFile(deps, job, params.artifactUuid);
    const { row, reply } = await openPortion(find, request, deps);
    return { ...reply, type: "application/octet-stream", fileName: row.file_name };
  },
});

function change(verb: "lock" | "unlock", summary: string): Route {
  return route({
    ...writing,
    method: "post",
    path: `${base}/job/{localId}/{artifactUuid}/${verb}`,
    operationId: `${verb}Artifact`,
    summary,
    params: LocalIdParams,
    reply: ArtifactView,
    async handle({ params, request }, deps) {
      const { job } = await mustFindJob(deps, request, params.localId);
      if (params.artifactUuid === job.id) throw keptLog();
      const { id: artifactId } = await mustFindArtifact(deps, job, params.artifactUuid);
      const type = verb === "lock" ? "LockArtifact" : "UnlockArtifact";
      await send(deps, request, job, { type, artifactId });
      const changed = await mustFindArtifact(deps, job, artifactId);
      return viewOf(params)({ ...changed, job_local_id: job.local_id });
    },
  });
}

async function send(
  deps: Deps,
  request: RequestFor<"project:DEVELOPER">,
  job: JobRow,
  order: Readonly<{ type: "LockArtifact" | "UnlockArtifact"; artifactId: string }>,
): Promise<void> {
  const of = { jobId: job.id, projectId: job.project_id, by: request.userId };
  const command = { ...order, ...of, at: deps.now().toISOString() };
  await request.execute(artifact, job.id, command);
}

/** @throws Refusal 404, also for an artifact of another job */
async function mustFindArtifact(
  { db }: Pick<Deps, "db">,
  job: JobRow,
  id: string,
): Promise<ArtifactRow> {
  const row = await findArtifact(db, job.id, { id });
  if (row === undefined) throw artifactNotFound();
  return row;
}

type Downloadable = Pick<ArtifactRow, "sha256" | "bytes" | "file_name">;

/** An artifact, or the log of the last run of the job. */
async function mustFindFile(
  deps: Pick<Deps, "db">,
  job: JobRow,
  id: string,
): Promise<Downloadable> {
  if (id !== job.id) return mustFindArtifact(deps, job, id);
  const log = await findJobLog(deps.db, { job_id: job.id, attempt: job.attempt });
  if (log === undefined) throw artifactNotFound();
  return { ...log, file_name: traceName };
}

function keptLog(): Refusal {
  const message = "A log is kept as long as its pipeline, and is neither locked nor unlocked.";
  return new Refusal("unprocessable", "artifact.is_log", message);
}

export const artifactRoutes: readonly Route[] = [
  ofJob,
  ofPipeline,
  download,
  change("lock", "Keep an artifact beyond its time"),
  change("unlock", "Let an artifact expire at its time"),
];
