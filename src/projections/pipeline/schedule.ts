import type { Knex } from "knex";

import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { pipelineScheduleEvents, type ScheduleSettings } from "../../events/pipeline/schedule.ts";
import { change, put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { oldestFirst, type Part, type Slice } from "../list/list-rows.ts";

const schedules = defineTable({
  name: "pipeline_schedule",
  columns: {
    id: "uuid",
    project_id: column<ProjectId>("uuid"),
    description: "text",
    cron: "text",
    timezone: "text",
    ref: "text",
    is_tag: "boolean",
    active: "boolean",
    variables: column<Sealed | null>("text null"),
    owner_id: column<UserId>("uuid"),
    next_run_at: "timestamptz null",
    last_run_at: "timestamptz null",
    created_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(project_id, created_at, id)"],
  lateIndexes: ["(next_run_at)"],
});

export type ScheduleRow = RowOf<typeof schedules>;

const dateOrNull = (at: string | null): Date | null => (at === null ? null : new Date(at));

const settingsOf = ({ isTag: is_tag, ...settings }: ScheduleSettings) => ({ ...settings, is_tag });

export const pipelineScheduleProjection = defineReadModel({
  name: "pipeline_schedule",
  version: 2,
  tables: [schedules],
  events: { ...pipelineScheduleEvents, ...purgeEvents },
  effects: {
    PipelineScheduleCreated: ({ data }) =>
      put(schedules, {
        id: data.scheduleId,
        project_id: data.projectId,
        ...settingsOf(data.settings),
        owner_id: data.createdById,
        next_run_at: dateOrNull(data.nextRunAt),
        last_run_at: null,
        created_at: new Date(data.createdAt),
      }),
    PipelineScheduleChanged: ({ data: { scheduleId: id, settings, changedById, nextRunAt } }) =>
      change(
        schedules,
        { id },
        {
          ...settingsOf(settings),
          owner_id: changedById,
          next_run_at: dateOrNull(nextRunAt),
        },
      ),
    PipelineScheduleTakenOver: ({ data: { scheduleId: id, variables, takenOverById } }) =>
      change(schedules, { id }, { variables, owner_id: takenOverById }),
    PipelineScheduleRan: ({ data: { scheduleId: id, nextRunAt, ranAt } }) =>
      change(
        schedules,
        { id },
        { next_run_at: dateOrNull(nextRunAt), last_run_at: new Date(ranAt) },
      ),
    PipelineScheduleTurnedOff: ({ data: { scheduleId: id } }) =>
      change(schedules, { id }, { active: false, next_run_at: null }),
    PipelineScheduleDeleted: ({ data: { scheduleId: id } }) => remove(schedules, { id }),
    ProjectPurged: purgedFrom(schedules),
  },
});

/** Oldest first. */
export function listSchedules(
  db: Knex,
  project_id: ProjectId,
  part: Part,
): Promise<Slice<ScheduleRow>> {
  return oldestFirst<ScheduleRow>(db, {
    table: "pipeline_schedule",
    where: { project_id },
    ...part,
  });
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
