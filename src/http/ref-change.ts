import type { Knex } from "knex";

import { BranchName } from "../platform/git/name.ts";
import { Refusal } from "../platform/refusal.ts";
import { findRef, type GitRefRow } from "../projections/git-ref.ts";
import { changeRefs, type RefOrder, type RefsChanged } from "../workers/ref-change.ts";
import type { Deps } from "./deps.ts";
import type { RequestFor } from "./request.ts";

export type Writing = RequestFor<"project:DEVELOPER">;

/** Changes refs in the caller's name, and answers once everybody sees it. */
export async function changeRefsFor(
  request: Writing,
  deps: Deps,
  how: Pick<RefOrder, "plan" | "retriesMax">,
): Promise<RefsChanged> {
  const { project, role } = request;
  const metadata = await request.metadata();
  const changed = await changeRefs(deps, { project, role, metadata, ...how });
  await request.visible(changed.position);
  return changed;
}

/** @throws Refusal 404 `branch.not_found`, `tag.not_found` */
export async function mustFindRef(
  db: Knex,
  projectId: string,
  kind: GitRefRow["kind"],
  name: string,
): Promise<GitRefRow> {
  const row = await findRef(db, projectId, kind, name);
  if (row !== undefined) return row;
  throw new Refusal("not_found", `${kind}.not_found`, `There is no such ${kind}.`);
}

/** A name of a branch to be, as a body carries it. */
export const NewBranchName = BranchName.meta({
  description: "As git-check-ref-format(1) demands of a branch.",
  examples: ["feature/search"],
});
