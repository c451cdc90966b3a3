import { z } from "zod";

import { listCommits } from "../platform/git/history.ts";
import { repositoryPath } from "../platform/git/name.ts";
import { invariant } from "../platform/invariant.ts";
import { Refusal } from "../platform/refusal.ts";
import { refView } from "../projections/ref-view.ts";
import { CommitView, presentCommits } from "./commit-view.ts";
import { mustFindCommit } from "./repository-access.ts";
import { route } from "./route.ts";

const tag = "Commits";
const names = { ownerAlias: z.string(), projectAlias: z.string() };

export const getCommits = route({
  method: "get",
  path: "/project/{ownerAlias}/{projectAlias}/commits",
  operationId: "listCommits",
  summary: "List the commits of a branch, newest first",
  tag,
  scope: "PROJECT_READ",
  access: "project:GUEST",
  params: z.object(names),
  query: z.object({
    branch: z.string().optional().meta({ description: "The default branch when not given." }),
    path: z.string().optional().meta({ description: "Only commits that touched this path." }),
  }),
  list: "commitList",
  reply: CommitView,
  errors: [403, 404, 422],
  async handle({ query, page, request: { project } }, deps) {
    const name = query.branch ?? project.default_branch;
    const refs = await refView(deps.db, project.id);
    const branch = await refs.find("branch", name);
    const repository = await deps.git.find(project.id);
    if (branch === undefined || repository === undefined) {
      // A project nobody has pushed to yet has no commits; a branch that was asked for must be there.
      if (query.branch === undefined) return { items: [], totalElements: 0 };
      throw new Refusal("not_found", "branch.not_found", "There is no such branch.");
    }
    const path = repositoryPath(query.path ?? "").join("/") || undefined;
    const history = { from: branch.object_id, path };
    const { commits, total } = await listCommits(repository, history, page);
    return { items: await presentCommits(deps, project.id, commits, refs), totalElements: total };
  },
});

export const getCommit = route({
  method: "get",
  path: "/project/{ownerAlias}/{projectAlias}/commit/{hash}",
  operationId: "getCommit",
  summary: "Get a commit by its full hash",
  tag,
  scope: "PROJECT_READ",
  access: "project:GUEST",
  params: z.object({ ...names, hash: z.string() }),
  reply: CommitView,
  errors: [403, 404],
  async handle({ params, request }, deps) {
    const { commit } = await mustFindCommit(deps, request.project, params.hash);
    const [view] = await presentCommits(deps, request.project.id, [commit]);
    invariant(view !== undefined, "one commit makes one view");
    // Not immutable: accounts, avatars and branches come and go.
    return view;
  },
});
