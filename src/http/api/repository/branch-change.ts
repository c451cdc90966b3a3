import { z } from "zod";

import { branchPrefix } from "../../../events/repository/repository.ts";
import { type Route, route } from "../../core/route.ts";
import { nameLengthMax } from "../../core/schema.ts";
import { BranchView, oneBranch } from "./branch.ts";
import { changeRefsFor, mustFindRef, NewBranchName } from "./ref-change.ts";
import { mustFindRevision, revisionText } from "./revision.ts";

const tag = "Branches";

const createBranch = route({
  method: "post",
  path: "/project/{ownerAlias}/{projectAlias}/branch",
  operationId: "createBranch",
  summary: "Create a branch",
  tag,
  scope: "PROJECT_WRITE",
  access: "project:DEVELOPER",
  body: z
    .object({
      newBranch: NewBranchName,
      originBranch: z
        .string()
        .max(nameLengthMax)
        .nullish()
        .meta({
          description: `${revisionText} The default branch when not given.`,
          examples: ["main"],
        }),
    })
    .meta({ id: "NewBranch" }),
  reply: BranchView,
  async handle({ body, request }, deps) {
    const { project } = request;
    const ref = branchPrefix + body.newBranch;
    const plan = async () => {
      const name = body.originBranch || project.default_branch;
      const { commit } = await mustFindRevision(deps, project, name);
      return [{ ref, before: null, after: commit.id }];
    };
    await changeRefsFor(request, deps, { plan });
    return oneBranch(deps, project, body.newBranch);
  },
});

const deleteBranch = route({
  method: "delete",
  path: "/project/{ownerAlias}/{projectAlias}/branch",
  operationId: "deleteBranch",
  summary: "Delete a branch",
  description: "Neither the default branch nor one that a rule protects.",
  tag,
  scope: "PROJECT_WRITE",
  access: "project:DEVELOPER",
  query: z.object({ branchName: z.string().min(1).max(nameLengthMax) }),
  reply: "empty",
  errors: [409],
  async handle({ query, request }, deps) {
    const plan = async () => {
      const { project } = request;
      const row = await mustFindRef(deps.db, project.id, "branch", query.branchName);
      return [{ ref: row.ref, before: row.object_id, after: null }];
    };
    await changeRefsFor(request, deps, { plan });
  },
});

export const branchChangeRoutes: readonly Route[] = [createBranch, deleteBranch];
