import type { Knex } from "knex";

import { pipelineLifetimeEvents } from "../../events/pipeline/lifetime.ts";
import { put } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import type { PipelineRow } from "./table.ts";

const lifetimes = defineTable({
  name: "pipeline_lifetime",
  columns: {
    parent_id: "uuid",
    id: "uuid",
    parent_type: column<"COMPANY" | "TEAM">("text"),
    lifetime_days: "integer",
    enabled: "boolean",
  },
  key: ["parent_id"],
});

type LifetimeRow = RowOf<typeof lifetimes>;

export const pipelineLifetimeProjection = defineReadModel({
  name: "pipeline_lifetime",
  version: 2,
  tables: [lifetimes],
  events: pipelineLifetimeEvents,
  effects: {
    PipelineLifetimeSet: ({ data }) =>
      put(lifetimes, {
        id: data.settingId,
        parent_id: data.parentId,
        parent_type: data.parentType,
        lifetime_days: data.lifetimeDays,
        enabled: data.enabled,
      }),
  },
});

export async function findLifetime(db: Knex, parent_id: string): Promise<LifetimeRow | undefined> {
  return db("pipeline_lifetime").where({ parent_id }).first();
}

/**
 * Pipelines that have ended and are older than the team or the company of their project allows; where
 * both say something, the shorter time counts.
 */
export async function expiredPipelines(
  db: Knex,
  now: Date,
  countMax: number,
): Promise<readonly PipelineRow[]> {
  const { rows } = await db.raw<{ rows: readonly PipelineRow[] }>(
    `select pipeline.* from pipeline_lifetime as rule
     left join team on team.owner_id = rule.parent_id
     join project on project.owner_id = rule.parent_id or project.owner_id = team.id
     join pipeline on pipeline.project_id = project.id
     where rule.enabled
       and pipeline.created_at < ?::timestamptz - rule.lifetime_days * interval '1 day'
       and pipeline.status in ('SUCCESS', 'FAILED', 'CANCELED', 'SKIPPED', 'WARNING', 'MANUAL')
     order by pipeline.created_at limit ?`,
    [now, countMax],
  );
  return rows;
}
