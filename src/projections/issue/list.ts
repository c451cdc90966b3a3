import type { Knex } from "knex";
import type { ProjectId } from "../../events/core/ids.ts";
import type { IssueId, IssueStatus } from "../../events/issue/issue.ts";
import { partPattern } from "../list/folded.ts";
import { type Part, partOf, type Slice } from "../list/list-rows.ts";
import { countedNear } from "../list/total.ts";
import type { IssueRow, IssueTotalRow } from "./issue.ts";

/** An issue that has its number. */
export type NumberedIssueRow = IssueRow & Readonly<{ local_id: NonNullable<IssueRow["local_id"]> }>;

/** An issue of this project by its number. */
export function findIssue(
  db: Knex,
  projectId: ProjectId,
  localId: number,
): Promise<NumberedIssueRow | undefined> {
  return db<IssueRow>("issue")
    .where({ project_id: projectId })
    .andWhere("local_id", localId)
    .first<NumberedIssueRow | undefined>();
}

/** Undefined also for an issue without a number. */
export function findIssueById(db: Knex, id: IssueId): Promise<NumberedIssueRow | undefined> {
  return db<IssueRow>("issue")
    .where({ id })
    .whereNotNull("local_id")
    .first<NumberedIssueRow | undefined>();
}

export type IssueFilter = Readonly<{
  /** Any of them. */
  statuses?: readonly IssueStatus[] | undefined;
  /** Issues that have all of them. */
  labelIds?: readonly string[];
  assigneeId?: string | undefined;
  authorId?: string | undefined;
  /** A part of title or description, in any case. */
  q?: string | undefined;
  updatedAfter?: Date | undefined;
  sort: "created" | "updated";
  order: "asc" | "desc";
}>;

/** The issues of a project that pass all filters, and how many they are; near the page when searched. */
export async function listIssues(
  db: Knex,
  projectId: ProjectId,
  filter: IssueFilter,
  page: Part,
): Promise<Slice<NumberedIssueRow>> {
  const { sort, order } = filter;
  const totals = await storedTotals(db, projectId);
  const matches = () => matching(db, projectId, filter, sum(totals) <= readWholeMax);
  const columns = sort === "created" ? ["local_id"] : ["updated_at", "local_id"];
  const sorted = columns.map((column) => ({ column, order }));
  const count = async (all: Knex.QueryBuilder) =>
    isTotalled(filter) ? sum(totals, filter.statuses) : await countedNear(db, all, page);
  return partOf(matches, (rows) => rows.orderBy(sorted), page, count);
}

/**
 * Indexes on words and assignees are those of the whole instance. The issues of a project of this size are
 * read faster than all matches of an index are, however large the instance is.
 */
const readWholeMax = 10_000;

function matching(
  db: Knex,
  projectId: ProjectId,
  filter: IssueFilter,
  isSmall: boolean,
): Knex.QueryBuilder {
  const { statuses, labelIds = [], assigneeId, authorId, q, updatedAfter } = filter;
  const query = db("issue").where("project_id", projectId).whereNotNull("local_id");
  if (statuses !== undefined) query.whereIn("status", statuses);
  if (labelIds.length > 0) query.whereRaw("label_ids @> ?::uuid[]", [[...labelIds]]);
  if (assigneeId !== undefined) {
    if (isSmall) query.whereRaw("? = any(assignee_ids)", [assigneeId]);
    else query.whereRaw("assignee_ids @> ?::uuid[]", [[assigneeId]]);
  }
  if (authorId !== undefined) query.where("author_id", authorId);
  if (updatedAfter !== undefined) query.where("updated_at", ">", updatedAfter);
  if (q !== undefined) {
    // Another expression than that of the index keeps the planner from it.
    const end = isSmall ? " || ''" : "";
    query.whereRaw(`(public.folded(title)${end} ~ ? or public.folded(description)${end} ~ ?)`, [
      partPattern(q),
      partPattern(q),
    ]);
  }
  return query;
}

/** Whether the total is one that is kept beside the rows. */
function isTotalled({
  labelIds = [],
  assigneeId,
  authorId,
  q,
  updatedAfter,
}: IssueFilter): boolean {
  const narrowing = [assigneeId, authorId, q, updatedAfter];
  return labelIds.length === 0 && narrowing.every((value) => value === undefined);
}

/** How many issues of the project have each status. */
async function storedTotals(db: Knex, projectId: ProjectId): Promise<readonly IssueTotalRow[]> {
  return db<IssueTotalRow>("issue_total").where({ project_id: projectId });
}

/** Of all statuses when none is given. */
function sum(totals: readonly IssueTotalRow[], statuses?: readonly IssueStatus[]): number {
  const counted = totals.filter(({ status }) => statuses?.includes(status) ?? true);
  return counted.reduce((all, { total }) => all + Number(total), 0);
}

/** Issues that a process created before a time and did not number. */
export async function unnumberedIssues(
  db: Knex,
  before: Date,
  countMax: number,
): Promise<readonly Pick<IssueRow, "id" | "project_id">[]> {
  return db<IssueRow>("issue")
    .whereNull("local_id")
    .where("created_at", "<", before)
    .orderBy("created_at")
    .limit(countMax)
    .select("id", "project_id");
}

/** Ids of all issues of a project. */
export async function issueIdsOf(db: Knex, projectId: ProjectId): Promise<readonly IssueId[]> {
  return db<IssueRow>("issue").where({ project_id: projectId }).pluck("id");
}
