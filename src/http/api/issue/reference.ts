import { listReferences } from "../../../projections/reference/list.ts";
import { listed } from "../../core/paging.ts";
import { route } from "../../core/route.ts";
import { ReferenceView, referenceView } from "../reference/view.ts";
import { mustFindIssue, reading } from "./issue.ts";

export const getIssueReferences = route({
  ...reading,
  method: "get",
  path: "/project/{ownerAlias}/{projectAlias}/issue/{localId}/references",
  operationId: "listIssueReferences",
  summary: "List what names an issue",
  description: "The oldest first, of the projects that the caller may read.",
  list: "referenceList",
  reply: ReferenceView,
  async handle({ params: { localId }, page, request }, deps) {
    const { project, userId } = request;
    await mustFindIssue(deps, request, localId);
    const thing = { project, mark: "#", localId } as const;
    return listed(listReferences(deps.db, thing, userId, page), referenceView);
  },
});
