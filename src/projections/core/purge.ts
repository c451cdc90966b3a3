import type { EventOf } from "../../events/core/event.ts";
import { projectEvents } from "../../events/project/project.ts";
import { type Change, removeAll } from "./change.ts";
import type { Tx } from "./projection.ts";
import type { AnyTable } from "./table.ts";
import type { Writes } from "./writes.ts";

/** Removes the rows of a project that is gone for good from tables that have its id as `project_id`. */
export const purgedFrom =
  (...tables: readonly AnyTable[]) =>
  ({ data }: EventOf<typeof purgeEvents>): readonly Change[] =>
    removeAll(tables, { project_id: data.projectId });

/** What read models of things in projects listen to: the project is gone for good. */
export const purgeEvents = { ProjectPurged: projectEvents.ProjectPurged } as const;

/** Columns that name the project, by table. */
type Tables = Readonly<Record<string, "project_id" | "parent_id">>;

/** Drops the rows that belong to a project, by the column that names it in each table. */
export async function dropRows(tx: Tx, projectId: string, tables: Tables): Promise<void> {
  for (const [table, column] of Object.entries(tables)) {
    await tx(table).where(column, projectId).delete();
  }
}

/** The same as statements of a batch. */
export function purgeRows(rows: Writes, projectId: string, tables: Tables): void {
  for (const [table, column] of Object.entries(tables)) {
    rows.run((db) => db(table).where(column, projectId).delete());
  }
}
