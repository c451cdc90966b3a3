import type { Knex } from "knex";
import type { ParentType } from "../../events/core/role.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type ReportReason, reportEvents } from "../../events/instance/report.ts";
import { oldestFirst, type Part } from "../core/list-rows.ts";
import { defineProjection } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import type { Slice } from "../user/user.ts";

export type ReportRow = Readonly<{
  id: string;
  /** Of its stream. */
  pair_id: string;
  parent_id: string;
  parent_type: ParentType;
  reporter_id: string;
  reason: ReportReason;
  /** Sealed; opened when an administrator reads it. */
  text: string | null;
  created_at: Date;
  closed_at: Date | null;
  closed_by_id: string | null;
}>;

export const reportProjection = defineProjection({
  name: "report",
  version: 2,
  tables: ["report"],
  async create(tx) {
    await tx.schema.createTable("report", (table) => {
      table.uuid("id").primary();
      table.uuid("pair_id").notNullable();
      table.uuid("parent_id").notNullable();
      table.text("parent_type").notNullable();
      table.uuid("reporter_id").notNullable();
      table.text("reason").notNullable();
      table.text("text");
      table.timestamp("created_at").notNullable();
      table.timestamp("closed_at");
      table.uuid("closed_by_id");
      table.index(["created_at", "id"]);
    });
    await tx.raw("create index report_open on report (created_at, id) where closed_at is null");
  },
  events: { ...reportEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: (tx, { data }) => dropRows(tx, data.projectId, { report: "parent_id" }),
    ReportFiled: async (tx, { stream, data }) => {
      const row = {
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
      };
      await tx<ReportRow>("report").insert(row).onConflict("id").merge();
    },
    ReportClosed: async (tx, { data }) => {
      const closed = { closed_at: new Date(data.closedAt), closed_by_id: data.closedById };
      await tx<ReportRow>("report").where({ id: data.reportId }).update(closed);
    },
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
