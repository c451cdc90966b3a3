import { projectEvents } from "../../events/project/project.ts";
import type { Tx } from "./projection.ts";

/** What read models of things in projects listen to: the project is gone for good. */
export const purgeEvents = { ProjectPurged: projectEvents.ProjectPurged } as const;

/** Drops the rows that belong to a project, by the column that names it in each table. */
export async function dropRows(
  tx: Tx,
  projectId: string,
  tables: Readonly<Record<string, "project_id" | "parent_id">>,
): Promise<void> {
  for (const [table, column] of Object.entries(tables)) {
    await tx(table).where(column, projectId).delete();
  }
}
