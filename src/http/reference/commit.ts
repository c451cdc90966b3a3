import { z } from "zod";

import { listReferences } from "../../projections/reference/list.ts";
import { type Route, route } from "../core/route.ts";
import { mustFindCommit, revisionText } from "../repository/revision.ts";
import { presentReference, ReferenceView } from "./view.ts";

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
  params: z.object({
    ownerAlias: z.string(),
    projectAlias: z.string(),
    hash: z.string().meta({ description: revisionText }),
  }),
  list: "referenceList",
  reply: ReferenceView,
  errors: [403, 404, 422],
  async handle({ params: { hash }, page: { size, offset }, request }, deps) {
    const { project, userId } = request;
    const { commit } = await mustFindCommit(deps, project, hash);
    const thing = { project, commitId: commit.id };
    const page = { limit: size, offset };
    const { rows, total } = await listReferences(deps.db, thing, userId, page);
    return { items: rows.map(presentReference), totalElements: total };
  },
});

export const commitReferenceRoutes: readonly Route[] = [listCommitReferences];
