import { currentState } from "../../commands/core/handle.ts";
import { project } from "../../commands/project/project.ts";
import type { ProjectId } from "../../events/core/ids.ts";
import { findProjectById } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

/** The read model may be behind the log, which alone ends a delivery or a replay for good. */
export async function isDeleted(
  projectId: ProjectId,
  { store, db }: Pick<WorkerDeps, "store" | "db">,
): Promise<boolean> {
  if ((await findProjectById(db, projectId)) !== undefined) return false;
  const { status } = await currentState(store, project, projectId);
  return status === "deleted" || status === "purged";
}
