import type { Knex } from "knex";
import type { ProjectId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type IssueId, issueEvents } from "../../events/issue/issue.ts";
import { type IssueCommentId, issueCommentEvents } from "../../events/issue/issue-comment.ts";
import { change, put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import type { Part, Slice } from "../list/list-rows.ts";
import { sharedLength } from "../list/text-share.ts";
import { counted } from "../list/total.ts";

const { IssueDeleted } = issueEvents;

const comments = defineTable({
  name: "issue_comment",
  columns: {
    id: column<IssueCommentId>("uuid"),
    issue_id: column<IssueId>("uuid"),
    project_id: column<ProjectId>("uuid"),
    message: "text",
    author_id: column<UserId>("uuid"),
    created_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(issue_id, created_at, id)", "(project_id)"],
});

export type IssueCommentRow = RowOf<typeof comments>;

export const issueCommentProjection = defineReadModel({
  name: "issue_comment",
  version: 2,
  tables: [comments],
  events: { ...issueCommentEvents, IssueDeleted, ...purgeEvents },
  effects: {
    ProjectPurged: purgedFrom(comments),
    IssueDeleted: ({ stream }) => remove(comments, { issue_id: idInStream(stream) as IssueId }),
    IssueCommentCreated: ({ data }) =>
      put(comments, {
        id: data.issueCommentId,
        issue_id: data.issueId,
        project_id: data.projectId,
        message: data.message,
        author_id: data.createdById,
        created_at: new Date(data.createdAt),
      }),
    IssueCommentEdited: ({ stream, data: { message } }) =>
      change(comments, { id: idOf(stream) }, { message }),
    IssueCommentDeleted: ({ stream }) => remove(comments, { id: idOf(stream) }),
  },
});

const idOf = (stream: string): IssueCommentId => idInStream(stream) as IssueCommentId;

/** A comment as a list shows it. */
export type ListedCommentRow = IssueCommentRow &
  Readonly<{
    /** The list is long: the message is only the beginning of it. */
    truncated: boolean;
  }>;

/** The comments of an issue, oldest first; of long ones, the beginnings. */
export async function listIssueComments(
  db: Knex,
  issueId: IssueId,
  { limit, offset }: Part,
): Promise<Slice<ListedCommentRow>> {
  const all = () => db("issue_comment").where({ issue_id: issueId });
  const ordered = () => all().orderBy(["created_at", "id"]).limit(limit).offset(offset);
  const [shared, total] = await Promise.all([
    sharedLength(db, ordered().select({ text: "message" })),
    counted(all()),
  ]);
  const rows = await ordered()
    .select<ListedCommentRow[]>("*")
    .select(
      db.raw("left(message, ?) as message", [shared]),
      db.raw("char_length(message) > ? as truncated", [shared]),
    );
  return { rows, total };
}

/** A comment of this issue; one of another issue is not found. */
export function findIssueComment(
  db: Knex,
  issueId: IssueId,
  id: IssueCommentId,
): Promise<IssueCommentRow | undefined> {
  return db<IssueCommentRow>("issue_comment").where({ issue_id: issueId, id }).first();
}

/** Ids of the comments of an issue; undefined when it is not there. */
export async function issueCommentIdsBelow(
  db: Knex,
  issueId: string,
): Promise<readonly string[] | undefined> {
  const issue = await db("issue").where({ id: issueId }).first("id");
  if (issue === undefined) return undefined;
  return db("issue_comment").where({ issue_id: issueId }).pluck("id");
}

/** Ids of all comments in a project. */
export async function issueCommentIdsOf(
  db: Knex,
  projectId: ProjectId,
): Promise<readonly IssueCommentId[]> {
  return db<IssueCommentRow>("issue_comment").where({ project_id: projectId }).pluck("id");
}

export function findIssueCommentById(
  db: Knex,
  id: IssueCommentId,
): Promise<IssueCommentRow | undefined> {
  return db<IssueCommentRow>("issue_comment").where({ id }).first();
}
