import type { Knex } from "knex";

import type { ProjectId, UserId } from "../../events/core/ids.ts";
import { pipelineTriggerEvents } from "../../events/pipeline/trigger.ts";
import { put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { oldestFirst, type Part, type Slice } from "../list/list-rows.ts";

const triggers = defineTable({
  name: "pipeline_trigger",
  columns: {
    id: "uuid",
    project_id: column<ProjectId>("uuid"),
    description: "text",
    token_hash: "text",
    owner_id: column<UserId>("uuid"),
    created_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(project_id, created_at, id)"],
  lateIndexes: ["(token_hash)"],
});

export type TriggerRow = RowOf<typeof triggers>;

export const pipelineTriggerProjection = defineReadModel({
  name: "pipeline_trigger",
  version: 2,
  tables: [triggers],
  events: { ...pipelineTriggerEvents, ...purgeEvents },
  effects: {
    PipelineTriggerCreated: ({ data }) =>
      put(triggers, {
        id: data.triggerId,
        project_id: data.projectId,
        description: data.description,
        token_hash: data.tokenHash,
        owner_id: data.createdById,
        created_at: new Date(data.createdAt),
      }),
    PipelineTriggerDeleted: ({ data }) => remove(triggers, { id: data.triggerId }),
    ProjectPurged: purgedFrom(triggers),
  },
});

/** Oldest first. */
export function listTriggers(
  db: Knex,
  project_id: ProjectId,
  part: Part,
): Promise<Slice<TriggerRow>> {
  return oldestFirst<TriggerRow>(db, { table: "pipeline_trigger", where: { project_id }, ...part });
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
