import type { Knex } from "knex";
import type { ParentType } from "../../events/core/role.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type ReportReason, reportEvents } from "../../events/instance/report.ts";
import { change, put, remove } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { oldestFirst, type Part, type Slice } from "../list/list-rows.ts";

const reports = defineTable({
  name: "report",
  columns: {
    id: "uuid",
    /** Of its stream. */
    pair_id: "uuid",
    parent_id: "uuid",
    parent_type: column<ParentType>("text"),
    reporter_id: "uuid",
    reason: column<ReportReason>("text"),
    /** Sealed; opened when an administrator reads it. */
    text: "text null",
    created_at: "timestamptz",
    closed_at: "timestamptz null",
    closed_by_id: "uuid null",
  },
  key: ["id"],
  indexes: ["(parent_id)"],
  lateIndexes: ["(created_at, id)", "(created_at, id) where closed_at is null"],
});

export type ReportRow = RowOf<typeof reports>;

export const reportProjection = defineReadModel({
  name: "report",
  version: 3,
  tables: [reports],
  events: { ...reportEvents, ...purgeEvents },
  effects: {
    ProjectPurged: ({ data }) => remove(reports, { parent_id: data.projectId }),
    ReportFiled: ({ stream, data }) =>
      put(reports, {
        id: data.reportId,
        pair_id: idInStream(stream),
        parent_id: data.parentId,
        parent_type: data.parentType,
        reporter_id: data.reporterId,
        reason: data.reason,
        text: data.text,
        created_at: new Date(data.filedAt),
        closed_at: null,
        closed_by_id: null,
      }),
    ReportClosed: ({ data: { reportId: id, closedAt, closedById: closed_by_id } }) =>
      change(reports, { id }, { closed_at: new Date(closedAt), closed_by_id }),
  },
});

export function findReport(db: Knex, id: string): Promise<ReportRow | undefined> {
  return db<ReportRow>("report").where({ id }).first();
}

/** The oldest first. */
export async function listReports(
  db: Knex,
  { open, ...part }: Readonly<{ open: boolean | undefined }> & Part,
): Promise<Slice<ReportRow>> {
  const where = (query: Knex.QueryBuilder): void => {
    if (open === true) query.whereNull("closed_at");
    if (open === false) query.whereNotNull("closed_at");
  };
  return oldestFirst<ReportRow>(db, { table: "report", where, ...part });
}
