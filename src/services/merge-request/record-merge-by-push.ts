import { handle } from "../../commands/core/handle.ts";
import { mergeRequest } from "../../commands/merge-request/merge-request.ts";
import type { Recorded } from "../../events/core/event.ts";
import type { ObjectId, UserId } from "../../events/core/ids.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import { mergeJudge } from "./judge.ts";
import type { SourceDeps } from "./source-subject.ts";

export type MergeByPush = Readonly<{
  targetBefore: ObjectId;
  mergeCommit: ObjectId;
  by: UserId | null;
  /** The change of the target branch. */
  cause: Pick<Recorded, "id" | "metadata">;
}>;

/**
 * Records that a push merged a request, with the requirements that were passed over; in the name of who pushed. Doing it
 * twice records it once.
 *
 * @throws Refusal 409 `merge_request.changed`, `merge.in_progress`, after which the push is compared again
 */
export async function recordMergeByPush(
  deps: SourceDeps,
  row: MergeRequestRow,
  { targetBefore, mergeCommit, by, cause }: MergeByPush,
): Promise<void> {
  const project = await findProjectById(deps.db, row.project_id);
  if (project === undefined) return;
  const role = by === null ? undefined : await actingRole(deps.db, project, by);
  const judge = mergeJudge(deps, project, { userId: by, role });
  const { requirements } = await judge(row, { targetHead: targetBefore, strategy: "MERGE_COMMIT" });
  // Who merges by hand has resolved the conflicts.
  const unmet = Object.entries(requirements).flatMap(([name, isMet]) =>
    isMet || name === "NO_CONFLICTS" ? [] : [name],
  );
  const mergeId = deterministicId("merge by push", cause.id, row.id);
  const command = {
    type: "RecordMergeByPush",
    mergeId,
    targetBranch: row.target_branch,
    targetBefore,
    sourceCommit: row.source_commit,
    mergeCommit,
    unmetRequirements: unmet,
    by,
    at: deps.now().toISOString(),
  } as const;
  const metadata = { ...cause.metadata, commandId: mergeId, causationId: cause.id };
  const order = { id: row.id, command, metadata };
  await deps.visible((await handle(deps.store, mergeRequest, order)).position);
}
