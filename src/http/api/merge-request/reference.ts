import { listReferences } from "../../../projections/reference/list.ts";
import { listed } from "../../core/paging.ts";
import { route } from "../../core/route.ts";
import { ReferenceView, referenceView } from "../reference/view.ts";
import { at, mustFindMergeRequest, reading } from "./place.ts";

export const getMergeRequestReferences = route({
  ...reading,
  method: "get",
  path: `${at}/{localId}/references`,
  operationId: "listMergeRequestReferences",
  summary: "List what names a merge request",
  description: "The oldest first, of the projects that the caller may read.",
  list: "referenceList",
  reply: ReferenceView,
  async handle({ params: { localId }, page, request }, deps) {
    const { project, userId } = request;
    await mustFindMergeRequest(deps, request, localId);
    const thing = { project, mark: "!", localId } as const;
    return listed(listReferences(deps.db, thing, userId, page), referenceView);
  },
});
