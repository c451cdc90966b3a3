import type { Knex } from "knex";
import { artifactEvents } from "../../events/agent/artifact.ts";
import type { ProjectId } from "../../events/core/ids.ts";
import type { JobId } from "../../events/pipeline/id.ts";
import { pipelineEvents } from "../../events/pipeline/pipeline.ts";
import { change, put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import type { Part, Slice } from "../list/list-rows.ts";
import { counted } from "../list/total.ts";

const { PipelineDeleted } = pipelineEvents;

const artifacts = defineTable({
  name: "job_artifact",
  columns: {
    id: "uuid",
    job_id: column<JobId>("uuid"),
    pipeline_id: "uuid",
    project_id: column<ProjectId>("uuid"),
    file_type: "text",
    file_name: "text",
    bytes: "bigint",
    sha256: "text",
    expire_at: "timestamptz null",
    locked: "boolean",
    created_at: "timestamptz",
  },
  key: ["id"],
  unique: ["(job_id, file_type)"],
  indexes: ["(project_id)", "(pipeline_id, created_at, id)"],
  lateIndexes: ["(sha256)", "(expire_at)"],
});

export type ArtifactRow = RowOf<typeof artifacts>;

export const artifactProjection = defineReadModel({
  name: "job_artifact",
  version: 2,
  tables: [artifacts],
  events: { ...artifactEvents, ...purgeEvents, PipelineDeleted },
  effects: {
    ProjectPurged: purgedFrom(artifacts),
    PipelineDeleted: ({ data }) => remove(artifacts, { pipeline_id: data.pipelineId }),
    JobArtifactStored: ({ data: { jobId: job_id, fileType: file_type, ...data } }) => [
      // It replaces another of its kind.
      remove(artifacts, { job_id, file_type }),
      put(artifacts, {
        id: data.artifactId,
        job_id,
        pipeline_id: data.pipelineId,
        project_id: data.projectId,
        file_type,
        file_name: data.file.name,
        bytes: BigInt(data.file.bytes),
        sha256: data.file.sha256,
        expire_at: data.expireAt === null ? null : new Date(data.expireAt),
        locked: false,
        created_at: new Date(data.storedAt),
      }),
    ],
    JobArtifactLocked: ({ data }) => change(artifacts, { id: data.artifactId }, { locked: true }),
    JobArtifactUnlocked: ({ data }) =>
      change(artifacts, { id: data.artifactId }, { locked: false }),
    JobArtifactExpired: ({ data }) => remove(artifacts, { id: data.artifactId }),
  },
});

/** The log of a job is an artifact of this kind and name. */
export const traceType = "trace";
export const traceName = "job.log";

/** With the number of its job in the project. */
export type ListedArtifact = Pick<
  ArtifactRow,
  "id" | "file_type" | "file_name" | "bytes" | "expire_at" | "locked"
> &
  Readonly<{ job_local_id: number | null }>;

type Which = Readonly<{ job_id: string } | { pipeline_id: string }>;

/**
 * Artifacts of a job or a pipeline, and the stored log of the last run of each job, which is an artifact as well and has
 * the id of the job.
 */
export async function listArtifacts(
  db: Knex,
  which: Which,
  part: Part,
): Promise<Slice<ListedArtifact>> {
  const file = ["file_type", "file_name", "bytes", "expire_at", "locked", "created_at"];
  const [column, id] =
    "job_id" in which ? ["log.job_id", which.job_id] : ["log.pipeline_id", which.pipeline_id];
  const traces = db("job_log as log")
    .join("pipeline_job as job", { "job.id": "log.job_id", "job.attempt": "log.attempt" })
    .where(column, id)
    .select("log.job_id as id", "log.job_id", db.raw("? as file_type", [traceType]))
    .select(
      db.raw("? as file_name, log.bytes, null::timestamptz, false, log.stored_at", [traceName]),
    );
  const all = () =>
    db("job_artifact")
      .where(which)
      .select(["id", "job_id", ...file])
      .unionAll([traces]);
  const rows = db
    .from(all().as("artifact"))
    .join("pipeline_job as job", "job.id", "artifact.job_id")
    .orderBy(["artifact.created_at", "artifact.id"])
    .limit(part.limit)
    .offset(part.offset)
    .select<ListedArtifact[]>("artifact.*", "job.local_id as job_local_id");
  const [found, total] = await Promise.all([rows, counted(db.from(all().as("artifact")))]);
  return { rows: found, total };
}

/** When the first artifact of each of these jobs expires. A job is left out when none of its artifacts does. */
export async function artifactExpiries(
  db: Knex,
  jobIds: readonly JobId[],
): Promise<ReadonlyMap<JobId, Date>> {
  const rows = await db("job_artifact")
    .whereIn("job_id", [...jobIds])
    .where({ locked: false })
    .whereNotNull("expire_at")
    .groupBy("job_id")
    .select<{ job_id: JobId; first: Date }[]>("job_id", db.raw("min(expire_at) as first"));
  return new Map(rows.map(({ job_id, first }) => [job_id, first]));
}

/** With the name of its job. */
export type NamedArtifact = ArtifactRow & Readonly<{ job_name: string }>;

/** All artifacts of a pipeline, in the order of its jobs. */
export async function pipelineArtifacts(
  db: Knex,
  pipelineId: string,
): Promise<readonly NamedArtifact[]> {
  return db("job_artifact as artifact")
    .join("pipeline_job as job", "job.id", "artifact.job_id")
    .where({ "artifact.pipeline_id": pipelineId })
    .orderBy(["job.place", "artifact.file_type"])
    .select<NamedArtifact[]>("artifact.*", "job.name as job_name");
}

/** An artifact of this very job. */
export function findArtifact(
  db: Knex,
  jobId: string,
  which: Readonly<{ id: string } | { file_type: string }>,
): Promise<ArtifactRow | undefined> {
  return db<ArtifactRow>("job_artifact")
    .where({ job_id: jobId as JobId, ...which })
    .first();
}

/** What jobs left of one kind: `archive`, or that of a report. */
export async function artifactsOf(
  db: Knex,
  jobIds: readonly string[],
  fileType: string,
): Promise<readonly ArtifactRow[]> {
  return db("job_artifact")
    .whereIn("job_id", [...jobIds])
    .where({ file_type: fileType });
}

/** How many bytes the artifacts of a job have, without that of one kind. */
export async function bytesOfOthers(db: Knex, jobId: string, fileType: string): Promise<number> {
  const row = await db("job_artifact")
    .where({ job_id: jobId })
    .whereNot({ file_type: fileType })
    .sum<{ sum: string | null }>("bytes")
    .first();
  return Number(row?.sum ?? 0);
}

export async function expiredArtifacts(
  db: Knex,
  at: Date,
  limit: number,
): Promise<readonly ArtifactRow[]> {
  return db("job_artifact")
    .where("expire_at", "<=", at)
    .where({ locked: false })
    .orderBy("expire_at")
    .limit(limit);
}
