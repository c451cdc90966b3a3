import type { EventOf } from "../../events/core/event.ts";
import { projectEvents } from "../../events/project/project.ts";
import { type Change, removeAll } from "./change.ts";
import type { AnyTable } from "./table.ts";

/** Removes the rows of a project that is gone for good from tables that have its id as `project_id`. */
export const purgedFrom =
  (...tables: readonly AnyTable[]) =>
  ({ data }: EventOf<typeof purgeEvents>): readonly Change[] =>
    removeAll(tables, { project_id: data.projectId });

/** What read models of things in projects listen to: the project is gone for good. */
export const purgeEvents = { ProjectPurged: projectEvents.ProjectPurged } as const;
