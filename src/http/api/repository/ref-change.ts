import type { Knex } from "knex";
import { BranchName } from "../../../git/name.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findRef } from "../../../projections/repository/git-ref.ts";
import type { GitRefRow } from "../../../projections/repository/ref-rows.ts";
import { changeRefs, type RefOrder, type RefsChanged } from "../../../services/git/ref-change.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestFor } from "../../core/request.ts";

export type Writing = RequestFor<"project:DEVELOPER">;

/** Changes refs in the caller's name, and answers once every read shows the change. */
export async function changeRefsFor(
  request: Writing,
  deps: Deps,
  how: Pick<RefOrder, "plan" | "retries">,
): Promise<RefsChanged> {
  const { project, role } = request;
  const plan: RefOrder["plan"] = async (repository) => {
    const updates = await how.plan(repository);
    // Making a large commit takes a while, and so does waiting for a place to work in.
    await request.mustStillMay();
    return updates;
  };
  return await request.executeProcess((metadata) =>
    changeRefs(deps, { project, role, metadata, ...how, plan }),
  );
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
