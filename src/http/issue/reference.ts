import { listReferences } from "../../projections/reference/list.ts";
import { route } from "../core/route.ts";
import { presentReference, ReferenceView } from "../reference/view.ts";
import { IssueParams, mustFindIssue, reading } from "./issue.ts";

export const getIssueReferences = route({
  ...reading,
  method: "get",
  path: "/project/{ownerAlias}/{projectAlias}/issue/{localId}/references",
  operationId: "listIssueReferences",
  summary: "List what names an issue",
  description: "The oldest first, of the projects that the caller may read.",
  params: IssueParams,
  list: "referenceList",
  reply: ReferenceView,
  errors: [403, 404, 422],
  async handle({ params: { localId }, page: { size, offset }, request }, deps) {
    const { project, userId } = request;
    await mustFindIssue(localId, request, deps);
    const thing = { project, mark: "#", localId } as const;
    const page = { limit: size, offset };
    const { rows, total } = await listReferences(deps.db, thing, userId, page);
    return { items: rows.map(presentReference), totalElements: total };
  },
});
