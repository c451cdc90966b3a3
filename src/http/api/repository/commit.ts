import { z } from "zod";

import { listCommits } from "../../../git/history.ts";
import { repositoryPath } from "../../../git/name.ts";
import { invariant } from "../../../platform/invariant.ts";
import { refView } from "../../../projections/repository/ref-view.ts";
import { type Route, route } from "../../core/route.ts";
import { nameLengthMax, pathLengthMax } from "../../core/schema.ts";
import { CommitView, commitViews } from "./commit-view.ts";
import { mustFindCommit, mustFindRevision, refsAsOf, revisionText } from "./revision.ts";

const tag = "Commits";

const reading = {
  method: "get",
  tag,
  scope: "PROJECT_READ",
  access: "project:GUEST",
  reply: CommitView,
  asOf: refsAsOf,
} as const;

const getCommits = route({
  ...reading,
  path: "/project/{ownerAlias}/{projectAlias}/commits",
  operationId: "listCommits",
  summary: "List the commits of a branch, newest first",
  query: z.object({
    branch: z
      .string()
      .max(nameLengthMax)
      .optional()
      .meta({ description: `${revisionText} The default branch when not given.` }),
    path: z
      .string()
      .max(pathLengthMax)
      .optional()
      .meta({ description: "Only commits that touched this path." }),
  }),
  list: "commitList",
  async handle({ query, page, request: { project } }, deps) {
    const name = query.branch ?? project.default_branch;
    const refs = await refView(deps.db, project.id, deps.past);
    const branch = await refs.find("branch", name);
    const repository = await deps.git.find(project.id);
    const isThere = branch !== undefined && repository !== undefined;
    // A project without any push has no commits; a branch that the request names must exist.
    if (!isThere && query.branch === undefined) return { items: [], totalElements: 0 };
    // Of the past the repository may no longer hold it, which is then said.
    const found =
      isThere && !deps.past
        ? { repository, from: branch.object_id }
        : await mustFindRevision(deps, project, name).then((revision) => ({
            repository: revision.repository,
            from: revision.commit.id,
          }));
    const path = repositoryPath(query.path ?? "").join("/") || undefined;
    const history = { from: found.from, path };
    const part = { size: page.limit, offset: page.offset };
    const { commits, total } = await listCommits(found.repository, history, part);
    return { items: await commitViews(deps, project.id, commits, refs), totalElements: total };
  },
});

const getCommit = route({
  ...reading,
  path: "/project/{ownerAlias}/{projectAlias}/commit/{hash}",
  operationId: "getCommit",
  summary: "Get a commit",
  params: z.object({ hash: z.string().meta({ description: revisionText }) }),
  async handle({ params, request }, deps) {
    const { commit } = await mustFindCommit(deps, request.project, params.hash);
    const refs = await refView(deps.db, request.project.id, deps.past);
    const [view] = await commitViews(deps, request.project.id, [commit], refs);
    invariant(view !== undefined, "one commit makes one view");
    // Not immutable: accounts, avatars and branches come and go.
    return view;
  },
});

export const commitRoutes: readonly Route[] = [getCommit, getCommits];
