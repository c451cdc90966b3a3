import type { Knex } from "knex";

import type { EventOf, Recorded } from "../../events/core/event.ts";
import type { ProjectId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type IssueId, issueEvents } from "../../events/issue/issue.ts";
import { type IssueCommentId, issueCommentEvents } from "../../events/issue/issue-comment.ts";
import type { Part } from "../core/list-rows.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import { sharedLength } from "../core/text-share.ts";
import { counted } from "../core/total.ts";
import type { Slice } from "../user/user.ts";

export type IssueCommentRow = Readonly<{
  id: IssueCommentId;
  issue_id: IssueId;
  project_id: ProjectId;
  message: string;
  author_id: UserId;
  created_at: Date;
}>;

const { IssueDeleted } = issueEvents;
const events = { ...issueCommentEvents, IssueDeleted, ...purgeEvents };
type Handled = Recorded<EventOf<typeof events>>;

export const issueCommentProjection = defineProjection({
  name: "issue_comment",
  version: 1,
  tables: ["issue_comment"],
  async create(tx) {
    await tx.schema.createTable("issue_comment", (table) => {
      table.uuid("id").primary();
      table.uuid("issue_id").notNullable();
      table.uuid("project_id").notNullable();
      table.text("message").notNullable();
      table.uuid("author_id").notNullable();
      table.timestamp("created_at").notNullable();
      table.index(["issue_id", "created_at", "id"]);
      // Of a project that is purged.
      table.index(["project_id"]);
    });
  },
  events,
  handlers: {
    ProjectPurged: applyOne,
    IssueDeleted: applyOne,
    IssueCommentCreated: applyOne,
    IssueCommentEdited: applyOne,
    IssueCommentDeleted: applyOne,
  },
  // Most events create a comment: those that follow each other are written by one statement.
  applyAll: async (tx, all) => {
    let created: IssueCommentRow[] = [];
    for (const event of all) {
      if (event.type === "IssueCommentCreated") {
        created.push(rowOf(event.data));
        continue;
      }
      await insert(tx, created);
      created = [];
      await apply(tx, event);
    }
    await insert(tx, created);
  },
});

async function applyOne(tx: Tx, event: Handled): Promise<void> {
  if (event.type === "IssueCommentCreated") await insert(tx, [rowOf(event.data)]);
  else await apply(tx, event);
}

async function insert(tx: Tx, rows: readonly IssueCommentRow[]): Promise<void> {
  if (rows.length > 0) await tx("issue_comment").insert(rows).onConflict("id").merge();
}

async function apply(
  tx: Tx,
  event: Exclude<Handled, Readonly<{ type: "IssueCommentCreated" }>>,
): Promise<void> {
  const id = idInStream(event.stream);
  switch (event.type) {
    case "ProjectPurged":
      return dropRows(tx, event.data.projectId, { issue_comment: "project_id" });
    case "IssueDeleted":
      await tx("issue_comment").where({ issue_id: id }).delete();
      return;
    case "IssueCommentEdited":
      await tx("issue_comment").where({ id }).update({ message: event.data.message });
      return;
    case "IssueCommentDeleted":
      await tx("issue_comment").where({ id }).delete();
  }
}

function rowOf(
  data: Extract<Handled, Readonly<{ type: "IssueCommentCreated" }>>["data"],
): IssueCommentRow {
  return {
    id: data.issueCommentId,
    issue_id: data.issueId,
    project_id: data.projectId,
    message: data.message,
    author_id: data.createdById,
    created_at: new Date(data.createdAt),
  };
}

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
