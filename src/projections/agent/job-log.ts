import type { Knex } from "knex";

import { jobLogEvents } from "../../events/agent/job-log.ts";
import { pipelineEvents } from "../../events/pipeline/pipeline.ts";
import { put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { defineTable, type RowOf } from "../core/table.ts";

const logs = defineTable({
  name: "job_log",
  columns: {
    job_id: "uuid",
    attempt: "integer",
    pipeline_id: "uuid",
    project_id: "uuid",
    bytes: "bigint",
    sha256: "text",
    stored_at: "timestamptz",
  },
  key: ["job_id", "attempt"],
  indexes: ["(pipeline_id)", "(project_id)"],
  lateIndexes: ["(sha256)"],
});

type JobLogRow = RowOf<typeof logs>;

const { PipelineDeleted } = pipelineEvents;

/** Logs of runs that have ended, and their blobs. */
export const jobLogProjection = defineReadModel({
  name: "job_log",
  version: 2,
  tables: [logs],
  events: { ...jobLogEvents, ...purgeEvents, PipelineDeleted },
  effects: {
    ProjectPurged: purgedFrom(logs),
    PipelineDeleted: ({ data }) => remove(logs, { pipeline_id: data.pipelineId }),
    JobLogStored: ({ data }) =>
      put(logs, {
        job_id: data.jobId,
        attempt: data.attempt,
        pipeline_id: data.pipelineId,
        project_id: data.projectId,
        bytes: BigInt(data.bytes),
        sha256: data.sha256,
        stored_at: new Date(data.storedAt),
      }),
  },
});

export function findJobLog(
  db: Knex,
  { job_id, attempt }: Pick<JobLogRow, "job_id" | "attempt">,
): Promise<JobLogRow | undefined> {
  return db<JobLogRow>("job_log").where({ job_id, attempt }).first();
}
