import type { Knex } from "knex";

import type { UserId } from "../../events/core/ids.ts";
import { commitStatusEvents } from "../../events/pipeline/commit-status.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { tableOf } from "../core/writes.ts";

export type CommitStatusRow = Readonly<{
  project_id: string;
  commit_id: string;
  name: string;
  status: PipelineStatus;
  ref: string | null;
  target_url: string | null;
  description: string | null;
  reported_by_id: UserId;
  created_at: Date;
  updated_at: Date;
}>;

const statuses = tableOf<CommitStatusRow>({
  name: "commit_status",
  key: ["project_id", "commit_id", "name"],
  kept: ["created_at"],
});

export const commitStatusProjection = defineRowProjection({
  name: "commit_status",
  version: 1,
  tables: ["commit_status"],
  async create(tx) {
    await tx.schema.createTable("commit_status", (table) => {
      table.uuid("project_id").notNullable();
      table.text("commit_id").notNullable();
      table.text("name").notNullable();
      table.text("status").notNullable();
      table.text("ref");
      table.text("target_url");
      table.text("description");
      table.uuid("reported_by_id").notNullable();
      table.timestamp("created_at").notNullable();
      table.timestamp("updated_at").notNullable();
      table.primary(["project_id", "commit_id", "name"]);
    });
  },
  events: { ...commitStatusEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: async (rows, { data }) =>
      dropRows(await rows.written(), data.projectId, { commit_status: "project_id" }),
    CommitStatusReported: (rows, { data }) => {
      const at = new Date(data.reportedAt);
      const row = {
        project_id: data.projectId,
        commit_id: data.commitId,
        name: data.name,
        status: data.status,
        ref: data.ref,
        target_url: data.targetUrl,
        description: data.description,
        reported_by_id: data.reportedById,
        created_at: at,
        updated_at: at,
      };
      rows.put(statuses, row);
    },
  },
});

/** By name. */
export async function listCommitStatuses(
  db: Knex,
  project_id: string,
  commit_id: string,
  { limit, offset }: Readonly<{ limit: number; offset: number }>,
): Promise<Readonly<{ rows: readonly CommitStatusRow[]; total: number }>> {
  const own = () => db("commit_status").where({ project_id, commit_id });
  const [rows, counted] = await Promise.all([
    own().orderBy("name").limit(limit).offset(offset),
    own().count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
}

export async function findCommitStatus(
  db: Knex,
  project_id: string,
  commit_id: string,
  name: string,
): Promise<CommitStatusRow | undefined> {
  return db("commit_status").where({ project_id, commit_id, name }).first();
}
