import type { Knex } from "knex";
import { z } from "zod";

import type { ProjectId } from "../../../events/core/ids.ts";
import { IssueStatus } from "../../../events/issue/issue.ts";
import type { IssueFilter } from "../../../projections/issue/list.ts";
import { several, timeOrDay } from "../../core/schema.ts";
import { labelIdsNamed } from "../label/choice.ts";
import { filteredPerson, personFilter } from "../user/person-filter.ts";

const textMax = 255;
const labelsMax = 20;
const text = z.string().max(textMax);

export const IssueQuery = z.object({
  status: several(IssueStatus),
  label: z
    .union([text, z.array(text).max(labelsMax)])
    .transform((labels) => (typeof labels === "string" ? [labels] : labels))
    .optional()
    .meta({
      description: "Id or title; may be given several times: issues that have all of them.",
    }),
  assignee: personFilter(),
  author: personFilter(),
  q: text.trim().min(1).optional().meta({ description: "A part of title or description." }),
  updatedAfter: timeOrDay().optional(),
  sort: z.enum(["created", "updated"]).default("created"),
  order: z.enum(["asc", "desc"]).default("desc"),
});
export type IssueQuery = z.output<typeof IssueQuery>;

/** Undefined when a filter names a label or user that does not exist: then nothing passes. */
export async function issueFilter(
  db: Knex,
  projectId: ProjectId,
  query: IssueQuery,
): Promise<IssueFilter | undefined> {
  const { status: statuses, q, updatedAfter, sort, order } = query;
  const labelIds = await labelIdsNamed(db, projectId, query.label ?? []);
  const assigneeId = await filteredPerson(db, query.assignee);
  const authorId = await filteredPerson(db, query.author);
  if (labelIds === undefined || assigneeId === null || authorId === null) return undefined;
  return { statuses, labelIds, assigneeId, authorId, q, updatedAfter, sort, order };
}
