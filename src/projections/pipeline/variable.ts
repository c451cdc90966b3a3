import type { Knex } from "knex";

import type { Sealed } from "../../events/core/sealed.ts";
import {
  pipelineVariableEvents,
  type VariableParent,
  type VariableSettings,
} from "../../events/pipeline/variable.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";

export type VariableRow = Readonly<{
  id: string;
  parent_id: string;
  parent_type: VariableParent;
  key: string;
  value: Sealed;
  environment_scope: string | null;
  masked: boolean;
  protected: boolean;
  kind: "VARIABLE" | "FILE";
  description: string | null;
}>;

type Given = Readonly<{
  variableId: string;
  parentId: string;
  parentType: VariableParent;
  settings: VariableSettings;
}>;

async function save(tx: Tx, { variableId, parentId, parentType, settings }: Given): Promise<void> {
  const { environmentScope, ...rest } = settings;
  const owned = { id: variableId, parent_id: parentId, parent_type: parentType };
  const row = { ...owned, ...rest, environment_scope: environmentScope };
  await tx("pipeline_variable").insert(row).onConflict("id").merge();
}

export const pipelineVariableProjection = defineProjection({
  name: "pipeline_variable",
  version: 1,
  // Jobs are given these, and processes keep copies while they run.
  announces: "job-settings",
  tables: ["pipeline_variable"],
  async create(tx) {
    await tx.schema.createTable("pipeline_variable", (table) => {
      table.uuid("id").primary();
      table.uuid("parent_id").notNullable();
      table.text("parent_type").notNullable();
      table.text("key").notNullable();
      table.text("value").notNullable();
      table.text("environment_scope");
      table.boolean("masked").notNullable();
      table.boolean("protected").notNullable();
      table.text("kind").notNullable();
      table.text("description");
      table.index(["parent_id", "key", "id"]);
    });
  },
  events: { ...pipelineVariableEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: (tx, { data }) =>
      dropRows(tx, data.projectId, { pipeline_variable: "parent_id" }),
    PipelineVariableCreated: (tx, { data }) => save(tx, data),
    PipelineVariableChanged: (tx, { data }) => save(tx, data),
    PipelineVariableDeleted: async (tx, { data }) => {
      await tx("pipeline_variable").where({ id: data.variableId }).delete();
    },
  },
});

/** By key. */
export async function listVariables(
  db: Knex,
  parentId: string,
  { limit, offset }: Readonly<{ limit: number; offset: number }>,
): Promise<Readonly<{ rows: readonly VariableRow[]; total: number }>> {
  const own = () => db("pipeline_variable").where({ parent_id: parentId });
  const [rows, counted] = await Promise.all([
    own().orderBy(["key", "id"]).limit(limit).offset(offset),
    own().count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
}

/** A variable of this very parent. */
export async function findVariable(
  db: Knex,
  parentId: string,
  id: string,
): Promise<VariableRow | undefined> {
  return db("pipeline_variable").where({ parent_id: parentId, id }).first();
}

/** All variables of several parents. */
export async function variablesOf(
  db: Knex,
  parentIds: readonly string[],
): Promise<readonly VariableRow[]> {
  return db("pipeline_variable")
    .whereIn("parent_id", [...parentIds])
    .orderBy(["key", "id"]);
}
