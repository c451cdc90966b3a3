import { mergeRequestNotFound } from "../../../commands/merge-request/merge-request.ts";
import { findMergeRequest } from "../../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../../projections/merge-request/merge-request-row.ts";
import { withNewestSourceShown } from "../../../services/merge-request/source.ts";
import { atLeast } from "../../access/access.ts";
import { mustSuffice } from "../../access/role-access.ts";
import type { Deps } from "../../core/deps.ts";
import { oneInProject } from "../../core/one-below.ts";
import type { RequestFor } from "../../core/request.ts";
import { mergeRequestViews, type Reading } from "./view.ts";

export const at = "/project/{ownerAlias}/{projectAlias}/merge-request";

/** Declarations that operations on one merge request share. */
const declared = {
  tag: "Merge requests",
  access: "project:GUEST",
} as const;
export const reading = { ...declared, scope: "PROJECT_READ" } as const;
export const writing = { ...declared, scope: "PROJECT_WRITE", errors: [409] } as const;

export type Writing = RequestFor<"project:GUEST">;

/** @throws Refusal 404, also for a request of another project */
export const mustFindMergeRequest = oneInProject(findMergeRequest, mergeRequestNotFound);

/** Authors may change their own request, developers every one. @throws Refusal 403, 404 */
export async function mustBeChangeable(
  deps: Pick<Deps, "db">,
  request: Writing,
  localId: number,
): Promise<MergeRequestRow> {
  const row = await mustFindMergeRequest(deps, request, localId);
  if (isChangeable(row, request)) return row;
  mustSuffice(request.role, { resource: "project", role: "DEVELOPER" });
  return row;
}

export const isChangeable = (
  row: MergeRequestRow,
  { userId, role }: Pick<Writing, "userId" | "role">,
): boolean => row.author_id === userId || isDeveloper({ role });

export const mayDeleteRefs = (
  row: MergeRequestRow,
  { userId, role }: Pick<Writing, "userId" | "role">,
): boolean => row.author_id === userId || atLeast(role, "ADMIN");

export const isDeveloper = ({ role }: Pick<Reading, "role">): boolean => atLeast(role, "DEVELOPER");

/** The request as it is now, its source as well. */
export async function findView(deps: Deps, request: Reading, localId: number) {
  const row = await mustFindMergeRequest(deps, request, localId);
  const newest = deps.past ? row : await withNewestSourceShown(deps, row);
  const [view] = await mergeRequestViews(deps, request, [newest]);
  if (view === undefined) throw mergeRequestNotFound();
  return view;
}
