import { z } from "zod";

import { branchPrefix } from "../../../events/repository/repository.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { ProjectRow } from "../../../projections/project/project.ts";
import type { GitRefRow } from "../../../projections/repository/ref-rows.ts";
import { type RefView, refView } from "../../../projections/repository/ref-view.ts";
import type { Deps } from "../../core/deps.ts";
import { envelopeOf, pageInfo, pageQuery, pageRequest } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { nameLengthMax } from "../../core/schema.ts";
import { CommitView, commitViews } from "./commit-view.ts";
import { refsAsOf } from "./revision.ts";

const tag = "Branches";

export const BranchView = z
  .object({
    name: z.string(),
    fullName: z.string(),
    lastCommit: CommitView.nullable().meta({
      description: "Null of the past when the repository no longer holds it.",
    }),
    default: z.boolean(),
    merged: z.boolean().meta({ description: "The default branch contains it." }),
    work: z.boolean().meta({ description: "Work is done on it unless another is named." }),
  })
  .meta({ id: "Branch" });

const BranchListView = envelopeOf("branchList", BranchView);
export const BranchesView = z.union([BranchListView, BranchView]);

const getBranches = route({
  method: "get",
  path: "/project/{ownerAlias}/{projectAlias}/branch",
  operationId: "listBranches",
  summary: "List the branches, or get one",
  description: "With `branchName` the answer is that branch, otherwise a page of all.",
  tag,
  scope: "PROJECT_READ",
  access: "project:GUEST",
  query: pageQuery().extend({ branchName: z.string().max(nameLengthMax).optional() }),
  reply: BranchesView,
  asOf: refsAsOf,
  async handle({ query, request: { project } }, deps) {
    if (query.branchName !== undefined) return oneBranch(deps, project, query.branchName);
    const page = pageRequest(query);
    const refs = await refView(deps.db, project.id, deps.past);
    const { rows, total } = await refs.list("branch", { size: page.limit, offset: page.offset });
    const items = await branchViews(deps, project, refs, rows);
    return { _embedded: { branchList: [...items] }, page: pageInfo(page, total) };
  },
});

const getDefaultBranch = route({
  method: "get",
  path: "/project/{ownerAlias}/{projectAlias}/branch/default",
  operationId: "getDefaultBranch",
  summary: "Get the default branch",
  tag,
  scope: "PROJECT_READ",
  access: "project:GUEST",
  reply: BranchView,
  asOf: refsAsOf,
  handle: async ({ request: { project } }, deps) =>
    oneBranch(deps, project, project.default_branch),
});

export async function oneBranch(deps: Deps, project: ProjectRow, name: string) {
  const refs = await refView(deps.db, project.id, deps.past);
  const row = await refs.find("branch", name);
  const [view] = row === undefined ? [] : await branchViews(deps, project, refs, [row]);
  if (view !== undefined) return view;
  throw new Refusal("not_found", "branch.not_found", "There is no such branch.");
}

async function branchViews(
  deps: Deps,
  { id: projectId, default_branch }: ProjectRow,
  refs: RefView,
  rows: readonly GitRefRow[],
): Promise<readonly z.input<typeof BranchView>[]> {
  const repository = await deps.git.find(projectId);
  const heads = rows.map(({ ref, object_id }) => ({ ref, id: object_id }));
  const main = await refs.find("branch", default_branch);
  const finding = Promise.all(heads.map(({ id }) => repository?.objects.commit(id)));
  const mergedHeads = async () => {
    if (main === undefined) return undefined;
    if (!deps.past) return repository?.mergedInto(main.object_id, heads);
    // Git refuses what it no longer holds.
    if ((await repository?.objects.commit(main.object_id)) === undefined) return undefined;
    const known = await finding;
    const held = heads.filter((_, index) => known[index] !== undefined);
    return repository?.mergedInto(main.object_id, held);
  };
  const [found, merged] = await Promise.all([finding, mergedHeads()]);
  const commits = found.filter((commit) => commit !== undefined);
  const views = await commitViews(deps, projectId, commits, refs);
  const byHash = new Map(views.map((view) => [view.hash, view]));
  return rows.map(({ name, object_id }) => ({
    name,
    fullName: branchPrefix + name,
    lastCommit: byHash.get(object_id) ?? null,
    default: name === default_branch,
    merged: merged?.has(object_id) ?? false,
    work: name === default_branch,
  }));
}

export const branchRoutes: readonly Route[] = [getBranches, getDefaultBranch];
