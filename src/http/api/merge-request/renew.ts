import { z } from "zod";

import { type RenewOrder, renewSource } from "../../../services/merge-request/renew-source.ts";
import { type Route, route } from "../../core/route.ts";
import { at, findView, mustFindMergeRequest, writing } from "./place.ts";
import { MergeRequestView, seenHead } from "./schema.ts";

const Renewal = z.object({ sha: seenHead() }).meta({ id: "SourceRenewal" });

const rights =
  "It needs the right to push to the source, whose protection holds. A source that has all of the target stays as it is. A conflict is 409 with the files.";

export const renewRoutes: readonly Route[] = [
  renewal("rebase", "REBASE", "Rebase the source of a merge request on its target"),
  renewal("update", "MERGE", "Merge the target of a merge request into its source"),
];

function renewal(verb: "rebase" | "update", way: RenewOrder["way"], summary: string): Route {
  return route({
    ...writing,
    method: "post",
    path: `${at}/{localId}/${verb}`,
    operationId: `${verb}MergeRequest`,
    summary,
    description: rights,
    body: Renewal,
    reply: MergeRequestView,
    async handle({ params, body, request }, deps) {
      const row = await mustFindMergeRequest(deps, request, params.localId);
      await renewSource(deps, row, {
        project: request.project,
        userId: request.userId,
        metadata: await request.metadata(),
        seen: body.sha ?? undefined,
        way,
      });
      return findView(deps, request, row.local_id);
    },
  });
}
