import { headRefOf, mergeRefOf } from "../../events/merge-request/merge-request.ts";
import { dropServiceRefs } from "../../git/service-ref.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import type { WorkerDeps } from "../core/deps.ts";

/** Deletes what keeps the versions of a request; may be repeated. */
export async function deleteRefs(
  { git }: Pick<WorkerDeps, "git">,
  { project_id, local_id }: Pick<MergeRequestRow, "project_id" | "local_id">,
): Promise<void> {
  const repository = await git.find(project_id);
  if (repository === undefined) return;
  await dropServiceRefs(repository, [headRefOf(local_id), mergeRefOf(local_id)]);
}
