import type { Knex } from "knex";

import { jobLogEvents } from "../../events/agent/job-log.ts";
import { pipelineEvents } from "../../events/pipeline/pipeline.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { tableOf } from "../core/writes.ts";

export type JobLogRow = Readonly<{
  job_id: string;
  attempt: number;
  pipeline_id: string;
  project_id: string;
  bytes: bigint;
  sha256: string;
  stored_at: Date;
}>;

const logs = tableOf<JobLogRow>({ name: "job_log", key: ["job_id", "attempt"] });

const { PipelineDeleted } = pipelineEvents;

/** Logs of runs that have ended, and their blobs. */
export const jobLogProjection = defineRowProjection({
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
    ProjectPurged: async (rows, { data }) =>
      dropRows(await rows.written(), data.projectId, { job_log: "project_id" }),
    PipelineDeleted: async (rows, { data }) => {
      const tx = await rows.written();
      await tx("job_log").where({ pipeline_id: data.pipelineId }).delete();
    },
    JobLogStored: (rows, { data }) => {
      const row = {
        job_id: data.jobId,
        attempt: data.attempt,
        pipeline_id: data.pipelineId,
        project_id: data.projectId,
        bytes: BigInt(data.bytes),
        sha256: data.sha256,
        stored_at: new Date(data.storedAt),
      };
      rows.put(logs, row);
    },
  },
});

export function findJobLog(
  db: Knex,
  { job_id, attempt }: Pick<JobLogRow, "job_id" | "attempt">,
): Promise<JobLogRow | undefined> {
  return db<JobLogRow>("job_log").where({ job_id, attempt }).first();
}
