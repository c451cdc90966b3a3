import type { Knex } from "knex";

import type { Sealed } from "../../events/core/sealed.ts";
import {
  pipelineVariableEvents,
  type VariableParent,
  type VariableSettings,
} from "../../events/pipeline/variable.ts";
import { type Change, put, remove } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { type Part, partOf, type Slice } from "../list/list-rows.ts";

const variables = defineTable({
  name: "pipeline_variable",
  columns: {
    id: "uuid",
    parent_id: "uuid",
    parent_type: column<VariableParent>("text"),
    key: "text",
    value: column<Sealed>("text"),
    environment_scope: "text null",
    masked: "boolean",
    protected: "boolean",
    kind: column<"VARIABLE" | "FILE">("text"),
    description: "text null",
  },
  key: ["id"],
  indexes: ["(parent_id, key, id)"],
});

export type VariableRow = RowOf<typeof variables>;

type Saved = Readonly<{
  data: Readonly<{
    variableId: string;
    parentId: string;
    parentType: VariableParent;
    settings: VariableSettings;
  }>;
}>;

function saved({ data: { variableId, parentId, parentType, settings } }: Saved): Change {
  const { environmentScope: environment_scope, ...rest } = settings;
  const owned = { id: variableId, parent_id: parentId, parent_type: parentType };
  return put(variables, { ...owned, ...rest, environment_scope });
}

export const pipelineVariableProjection = defineReadModel({
  name: "pipeline_variable",
  version: 2,
  // Jobs are given these, and processes keep copies while they run.
  announces: "job-settings",
  tables: [variables],
  events: { ...pipelineVariableEvents, ...purgeEvents },
  effects: {
    PipelineVariableCreated: saved,
    PipelineVariableChanged: saved,
    PipelineVariableDeleted: ({ data }) => remove(variables, { id: data.variableId }),
    ProjectPurged: ({ data }) => remove(variables, { parent_id: data.projectId }),
  },
});

/** By key. */
export function listVariables(db: Knex, parentId: string, part: Part): Promise<Slice<VariableRow>> {
  const own = () => db("pipeline_variable").where({ parent_id: parentId });
  return partOf(own, (rows) => rows.orderBy(["key", "id"]), part);
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
