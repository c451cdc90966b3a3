import { z } from "zod";
import { conflictsListedMax, shortened } from "../../../git/conflict-paths.ts";
import { labelProjection } from "../../../projections/label/label.ts";
import { mergeRequestProjection } from "../../../projections/merge-request/merge-request.ts";
import { listMergeRequests } from "../../../projections/merge-request/merge-request-query.ts";
import { mergeRequestStatuses } from "../../../projections/merge-request/merge-request-row.ts";
import type { Deps } from "../../core/deps.ts";
import { route } from "../../core/route.ts";
import { bool, several, timeOrDay } from "../../core/schema.ts";
import { labelIdsNamed } from "../label/choice.ts";
import { filteredPerson, personFilter } from "../user/person-filter.ts";
import { at, findView, reading } from "./place.ts";
import { MergeRequestView } from "./schema.ts";
import { mergeRequestViews, type Reading } from "./view.ts";

export const getMergeRequest = route({
  ...reading,
  method: "get",
  path: `${at}/{localId}`,
  operationId: "getMergeRequest",
  summary: "Get a merge request",
  asOf: {
    readModels: [labelProjection],
    numbered: { kind: "MERGE_REQUEST", readModel: mergeRequestProjection },
  },
  reply: MergeRequestView,
  handle: ({ params, request }, deps) => findView(deps, request, params.localId),
});

const text = z.string().max(255).optional();
const Filter = z.object({
  status: several(z.enum(mergeRequestStatuses)),
  label: z
    .union([z.array(z.string().max(255)).max(100), z.string().max(255)])
    .optional()
    .meta({ description: "Title or id; of several, all." }),
  assignee: personFilter(),
  author: personFilter(),
  reviewer: personFilter(),
  sourceBranch: text,
  targetBranch: text,
  draft: bool().optional(),
  q: text.meta({ description: "Part of the title or the description, in any case." }),
  updatedAfter: timeOrDay().optional(),
  sort: z.enum(["created", "updated"]).default("created"),
  order: z.enum(["asc", "desc"]).default("desc"),
});

export const getMergeRequests = route({
  ...reading,
  method: "get",
  path: `${at}/list`,
  operationId: "listMergeRequests",
  summary: "List the merge requests into a project",
  query: Filter,
  list: "mergeRequestModelList",
  asOf: { readModels: [labelProjection, mergeRequestProjection], numbers: ["MERGE_REQUEST"] },
  reply: MergeRequestView,
  async handle({ query, page, request }, deps) {
    const named = await namedIn(query, request, deps);
    if (named === undefined) return { items: [], totalElements: 0 };
    const {
      q,
      draft,
      sort,
      order,
      status: statuses,
      sourceBranch,
      targetBranch,
      updatedAfter,
    } = query;
    const { rows, total } = await listMergeRequests(deps.db, {
      ...{ projectId: request.project.id, ...named, statuses, draft, q, sort, order },
      ...{ sourceBranch, targetBranch, updatedAfter, ...page },
    });
    const views = await mergeRequestViews(deps, request, rows);
    const items = views.map((view) => ({
      ...view,
      conflicts: [...shortened(view.conflicts, conflictsListedMax)],
    }));
    return { items, totalElements: total };
  },
});

/** Ids of the people and labels that the query names; undefined when one of them does not exist. */
async function namedIn(
  { label, assignee, author, reviewer }: z.output<typeof Filter>,
  { project }: Reading,
  { db }: Deps,
) {
  const [assigneeId, authorId, reviewerId] = await Promise.all(
    [assignee, author, reviewer].map((name) => filteredPerson(db, name)),
  );
  const labelIds = await labelIdsNamed(db, project.id, [label ?? []].flat());
  if (assigneeId === null || authorId === null || reviewerId === null) return undefined;
  if (labelIds === undefined) return undefined;
  return { assigneeId, authorId, reviewerId, labelIds };
}
