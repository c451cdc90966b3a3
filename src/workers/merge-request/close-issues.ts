import { handle } from "../../commands/core/handle.ts";
import { issue } from "../../commands/issue/issue.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import {
  mergeRequestEvents,
  mergeRequestStream,
} from "../../events/merge-request/merge-request.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { ownIssue, referencesIn, referencesInMarkdown } from "../../platform/text-reference.ts";
import { findIssue } from "../../projections/issue/list.ts";
import { findMergeRequestById } from "../../projections/merge-request/merge-request-query.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import { causedAs } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

type CloseDeps = Pick<WorkerDeps, "store" | "db" | "now" | "visible" | "publicUrl">;

/**
 * Closes the issues of the target project that title and description of a merged request name after a
 * closing word, once, in the name of who merged, when the merge reached the default branch. Those that
 * commits name are closed as with every push.
 */
export async function closeIssuesOf(
  { store, db, now, visible, publicUrl }: CloseDeps,
  mergeRequestId: string,
): Promise<void> {
  const row = await findMergeRequestById(db, mergeRequestId);
  const project = row && (await findProjectById(db, row.project_id));
  if (project === undefined || row?.merge_commit == null || row.merged_by_id === null) return;
  if (row.target_branch !== project.default_branch) return;
  const by = row.merged_by_id;
  const role = await actingRole(db, project, by);
  if (role === undefined || role === "GUEST") return;
  const references = [
    ...referencesIn(row.title, publicUrl),
    ...referencesInMarkdown(row.description, publicUrl),
  ];
  const path = `${project.owner_alias}/${project.alias}`;
  const own = references.flatMap(({ target, closes }) =>
    closes ? (ownIssue(target, path) ?? []) : [],
  );
  const merged = own.length === 0 ? undefined : await mergedEvent(store, row.id);
  if (merged === undefined) return;
  for (const localId of new Set(own)) {
    const found = await findIssue(db, project.id, localId);
    if (found === undefined) continue;
    const commandId = deterministicId("close issue", row.id, found.id);
    const { merge_commit: commitId } = row;
    const command = {
      type: "CloseIssueByCommit",
      commitId,
      projectId: project.id,
      by,
      at: now().toISOString(),
    } as const;
    const order = { id: found.id, command, metadata: causedAs(merged, commandId, now()) };
    await visible((await handle(store, issue, order)).position);
  }
}

const merges: ReadonlySet<string> = new Set(["MergeRequestMerged", "MergeRequestMergedByPush"]);

async function mergedEvent(
  store: CloseDeps["store"],
  mergeRequestId: string,
): Promise<Recorded | undefined> {
  for await (const recorded of store.readStreamBackwards(mergeRequestStream(mergeRequestId))) {
    if (merges.has(decode(mergeRequestEvents, recorded).type)) return recorded;
  }
  return undefined;
}
