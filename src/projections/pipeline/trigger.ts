import type { Knex } from "knex";

import type { ProjectId, UserId } from "../../events/core/ids.ts";
import { pipelineTriggerEvents } from "../../events/pipeline/trigger.ts";
import { defineProjection } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";

export type TriggerRow = Readonly<{
  id: string;
  project_id: ProjectId;
  description: string;
  token_hash: string;
  owner_id: UserId;
  created_at: Date;
}>;

export const pipelineTriggerProjection = defineProjection({
  name: "pipeline_trigger",
  version: 1,
  tables: ["pipeline_trigger"],
  async create(tx) {
    await tx.schema.createTable("pipeline_trigger", (table) => {
      table.uuid("id").primary();
      table.uuid("project_id").notNullable();
      table.text("description").notNullable();
      table.text("token_hash").notNullable().index();
      table.uuid("owner_id").notNullable();
      table.timestamp("created_at").notNullable();
      table.index(["project_id", "created_at", "id"]);
    });
  },
  events: { ...pipelineTriggerEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: (tx, { data }) =>
      dropRows(tx, data.projectId, { pipeline_trigger: "project_id" }),
    PipelineTriggerCreated: async (tx, { data }) => {
      const row = {
        id: data.triggerId,
        project_id: data.projectId,
        description: data.description,
        token_hash: data.tokenHash,
        owner_id: data.createdById,
        created_at: new Date(data.createdAt),
      };
      await tx("pipeline_trigger").insert(row).onConflict("id").merge();
    },
    PipelineTriggerDeleted: async (tx, { data }) => {
      await tx("pipeline_trigger").where({ id: data.triggerId }).delete();
    },
  },
});

/** Oldest first. */
export async function listTriggers(
  db: Knex,
  project_id: string,
  { limit, offset }: Readonly<{ limit: number; offset: number }>,
): Promise<Readonly<{ rows: readonly TriggerRow[]; total: number }>> {
  const own = () => db("pipeline_trigger").where({ project_id });
  const [rows, counted] = await Promise.all([
    own().orderBy(["created_at", "id"]).limit(limit).offset(offset),
    own().count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
}

/** A trigger of this very project, by its id or by the hash of its token. */
export async function findTrigger(
  db: Knex,
  project_id: string,
  by: Readonly<{ id: string } | { token_hash: string }>,
): Promise<TriggerRow | undefined> {
  return db("pipeline_trigger")
    .where({ project_id, ...by })
    .first();
}
