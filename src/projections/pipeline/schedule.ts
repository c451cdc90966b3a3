import type { Knex } from "knex";

import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { pipelineScheduleEvents, type ScheduleSettings } from "../../events/pipeline/schedule.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";

export type ScheduleRow = Readonly<{
  id: string;
  project_id: ProjectId;
  description: string;
  cron: string;
  timezone: string;
  ref: string;
  is_tag: boolean;
  active: boolean;
  variables: Sealed | null;
  owner_id: UserId;
  next_run_at: Date | null;
  last_run_at: Date | null;
  created_at: Date;
}>;

type Saved = Readonly<{
  scheduleId: string;
  projectId: string;
  settings: ScheduleSettings;
  nextRunAt: string | null;
}>;

async function save(tx: Tx, saved: Saved, owner_id: string, created_at?: Date): Promise<void> {
  const { isTag: is_tag, ...settings } = saved.settings;
  const next_run_at = saved.nextRunAt === null ? null : new Date(saved.nextRunAt);
  const row = { ...settings, is_tag, owner_id, next_run_at };
  const own = { id: saved.scheduleId, project_id: saved.projectId };
  if (created_at === undefined) await tx("pipeline_schedule").where(own).update(row);
  else {
    const made = { ...own, ...row, created_at, last_run_at: null };
    await tx("pipeline_schedule").insert(made).onConflict("id").merge();
  }
}

export const pipelineScheduleProjection = defineProjection({
  name: "pipeline_schedule",
  version: 1,
  tables: ["pipeline_schedule"],
  async create(tx) {
    await tx.schema.createTable("pipeline_schedule", (table) => {
      table.uuid("id").primary();
      table.uuid("project_id").notNullable();
      table.text("description").notNullable();
      table.text("cron").notNullable();
      table.text("timezone").notNullable();
      table.text("ref").notNullable();
      table.boolean("is_tag").notNullable();
      table.boolean("active").notNullable();
      table.text("variables");
      table.uuid("owner_id").notNullable();
      table.timestamp("next_run_at").index();
      table.timestamp("last_run_at");
      table.timestamp("created_at").notNullable();
      table.index(["project_id", "created_at", "id"]);
    });
  },
  events: { ...pipelineScheduleEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: (tx, { data }) =>
      dropRows(tx, data.projectId, { pipeline_schedule: "project_id" }),
    PipelineScheduleCreated: (tx, { data }) =>
      save(tx, data, data.createdById, new Date(data.createdAt)),
    PipelineScheduleChanged: (tx, { data }) => save(tx, data, data.changedById),
    PipelineScheduleTakenOver: async (tx, { data }) => {
      const { scheduleId: id, variables, takenOverById: owner_id } = data;
      await tx("pipeline_schedule").where({ id }).update({ variables, owner_id });
    },
    PipelineScheduleRan: async (tx, { data: { scheduleId: id, nextRunAt, ranAt } }) => {
      const next_run_at = nextRunAt === null ? null : new Date(nextRunAt);
      await tx("pipeline_schedule")
        .where({ id })
        .update({ next_run_at, last_run_at: new Date(ranAt) });
    },
    PipelineScheduleTurnedOff: async (tx, { data: { scheduleId: id } }) => {
      await tx("pipeline_schedule").where({ id }).update({ active: false, next_run_at: null });
    },
    PipelineScheduleDeleted: async (tx, { data: { scheduleId: id } }) => {
      await tx("pipeline_schedule").where({ id }).delete();
    },
  },
});

type Part = Readonly<{ limit: number; offset: number }>;

/** Oldest first. */
export async function listSchedules(
  db: Knex,
  project_id: string,
  { limit, offset }: Part,
): Promise<Readonly<{ rows: readonly ScheduleRow[]; total: number }>> {
  const own = () => db("pipeline_schedule").where({ project_id });
  const [rows, counted] = await Promise.all([
    own().orderBy(["created_at", "id"]).limit(limit).offset(offset),
    own().count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
}

/** A schedule of this very project. */
export async function findSchedule(
  db: Knex,
  project_id: string,
  id: string,
): Promise<ScheduleRow | undefined> {
  return db("pipeline_schedule").where({ project_id, id }).first();
}

/** Schedules whose time has come, the longest overdue first. */
export async function dueSchedules(
  db: Knex,
  now: Date,
  countMax: number,
): Promise<readonly ScheduleRow[]> {
  return db("pipeline_schedule")
    .where({ active: true })
    .where("next_run_at", "<=", now)
    .orderBy(["next_run_at", "id"])
    .limit(countMax);
}
