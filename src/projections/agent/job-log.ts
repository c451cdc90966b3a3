import type { Knex } from "knex";

import { jobLogEvents } from "../../events/agent/job-log.ts";
import { pipelineEvents } from "../../events/pipeline/pipeline.ts";
import { defineProjection } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";

export type JobLogRow = Readonly<{
  job_id: string;
  attempt: number;
  pipeline_id: string;
  project_id: string;
  bytes: bigint;
  sha256: string;
  stored_at: Date;
}>;

const { PipelineDeleted } = pipelineEvents;

/** Logs of runs that have ended, and their blobs. */
export const jobLogProjection = defineProjection({
  name: "job_log",
  version: 1,
  tables: ["job_log"],
  async create(tx) {
    await tx.schema.createTable("job_log", (table) => {
      table.uuid("job_id").notNullable();
      table.integer("attempt").notNullable();
      table.uuid("pipeline_id").notNullable().index();
      table.uuid("project_id").notNullable().index();
      table.bigInteger("bytes").notNullable();
      table.text("sha256").notNullable().index();
      table.timestamp("stored_at").notNullable();
      table.primary(["job_id", "attempt"]);
    });
  },
  events: { ...jobLogEvents, ...purgeEvents, PipelineDeleted },
  handlers: {
    ProjectPurged: (tx, { data }) => dropRows(tx, data.projectId, { job_log: "project_id" }),
    PipelineDeleted: async (tx, { data }) => {
      await tx("job_log").where({ pipeline_id: data.pipelineId }).delete();
    },
    JobLogStored: async (tx, { data }) => {
      const row = {
        job_id: data.jobId,
        attempt: data.attempt,
        pipeline_id: data.pipelineId,
        project_id: data.projectId,
        bytes: data.bytes,
        sha256: data.sha256,
        stored_at: new Date(data.storedAt),
      };
      await tx("job_log").insert(row).onConflict(["job_id", "attempt"]).merge();
    },
  },
});

export function findJobLog(
  db: Knex,
  { job_id, attempt }: Pick<JobLogRow, "job_id" | "attempt">,
): Promise<JobLogRow | undefined> {
  return db<JobLogRow>("job_log").where({ job_id, attempt }).first();
}
