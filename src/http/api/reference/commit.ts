import { z } from "zod";

import { listReferences } from "../../../projections/reference/list.ts";
import { listed } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { mustFindCommit, revisionText } from "../repository/revision.ts";
import { ReferenceView, referenceView } from "./view.ts";

const listCommitReferences = route({
  method: "get",
  path: "/project/{ownerAlias}/{projectAlias}/commit/{hash}/references",
  operationId: "listCommitReferences",
  summary: "List what names a commit",
  description:
    "By its whole hash. The oldest first, of the projects that the caller may read, whichever they are: forks have the same commits.",
  tag: "Commits",
  scope: "PROJECT_READ",
  access: "project:GUEST",
  params: z.object({ hash: z.string().meta({ description: revisionText }) }),
  list: "referenceList",
  reply: ReferenceView,
  async handle({ params: { hash }, page, request }, deps) {
    const { project, userId } = request;
    const { commit } = await mustFindCommit(deps, project, hash);
    const thing = { project, commitId: commit.id };
    return listed(listReferences(deps.db, thing, userId, page), referenceView);
  },
});

export const commitReferenceRoutes: readonly Route[] = [listCommitReferences];
