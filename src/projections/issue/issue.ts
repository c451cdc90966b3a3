import type { EventOf } from "../../events/core/event.ts";
import type { ProjectId, UserId } from "../../events/core/ids.ts";
import { type LocalId, localIdEvents } from "../../events/core/local-id.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type IssueId, type IssueStatus, issueEvents } from "../../events/issue/issue.ts";
import { issueCommentEvents } from "../../events/issue/issue-comment.ts";
import type { LabelId } from "../../events/label/label.ts";
import { type Change, change, put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel, nothing } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

/** How many numbered issues a project has in a status: counting them would take longer the more there are. */
const totals = defineTable({
  name: "issue_total",
  columns: {
    project_id: column<ProjectId>("uuid"),
    status: column<IssueStatus>("text"),
    total: "bigint",
  },
  key: ["project_id", "status"],
});

export type IssueTotalRow = RowOf<typeof totals>;

const issues = defineTable({
  name: "issue",
  columns: {
    id: column<IssueId>("uuid"),
    project_id: column<ProjectId>("uuid"),
    /** Null until the issue has a number; it is not shown before. */
    local_id: column<LocalId | null>("integer null"),
    title: "text",
    description: "text",
    status: column<IssueStatus>("text"),
    assignee_ids: column<readonly UserId[]>("uuid[]"),
    /** Some of them may be of labels that were deleted. */
    label_ids: column<readonly LabelId[]>("uuid[]"),
    author_id: column<UserId>("uuid"),
    updated_by_id: column<UserId>("uuid"),
    created_at: "timestamptz",
    /** Of the last change, also of a comment. */
    updated_at: "timestamptz",
  },
  key: ["id"],
  unique: ["(project_id, local_id)"],
  indexes: ["(created_at) where local_id is null"],
  lateIndexes: [
    // With the unique one every order of a list, alone and within a status.
    "(project_id, status, local_id)",
    "(project_id, updated_at, local_id)",
    "(project_id, status, updated_at, local_id)",
    "(project_id, author_id, local_id)",
    "using gin (assignee_ids) with (fastupdate = off)",
    "using gin (label_ids) with (fastupdate = off)",
    "using gin (public.folded(title) gin_trgm_ops)",
    "using gin (public.folded(description) gin_trgm_ops)",
  ],
  counts: [{ table: totals, where: "local_id is not null" }],
});

export type IssueRow = RowOf<typeof issues>;

export const issueProjection = defineReadModel({
  name: "issue",
  version: 4,
  tables: [issues, totals],
  events: { ...issueEvents, ...issueCommentEvents, ...localIdEvents, ...purgeEvents },
  effects: {
    IssueCreated: ({ data }) => put(issues, createdRow(data)),
    LocalIdAssigned: ({ data: { kind, subjectId, localId: local_id } }) =>
      kind === "ISSUE" ? change(issues, { id: subjectId as IssueId }, { local_id }) : [],
    IssueEdited: ({ stream, data: { details, editedById, editedAt } }) =>
      change(issues, idOf(stream), {
        title: details.title,
        description: details.description,
        status: details.status,
        assignee_ids: details.assigneeIds,
        label_ids: details.labelIds,
        updated_by_id: editedById,
        updated_at: new Date(editedAt),
      }),
    IssueClosedByCommit: ({ stream, data: { status, closedById, closedAt } }) =>
      change(issues, idOf(stream), {
        status,
        updated_by_id: closedById,
        updated_at: new Date(closedAt),
      }),
    IssueClosingCommitFound: nothing,
    IssueDeleted: ({ stream }) => remove(issues, idOf(stream)),
    IssueCommentCreated: ({ data }) => commentedAt(data.issueId, data.createdAt),
    IssueCommentEdited: ({ data }) => commentedAt(data.issueId, data.editedAt),
    IssueCommentDeleted: ({ data }) => commentedAt(data.issueId, data.deletedAt),
    ProjectPurged: purgedFrom(issues),
  },
});

const idOf = (stream: string) => ({ id: idInStream(stream) as IssueId });

const commentedAt = (id: IssueId, at: string): Change =>
  change(issues, { id }, { updated_at: new Date(at) });

function createdRow(data: EventOf<Pick<typeof issueEvents, "IssueCreated">>["data"]): IssueRow {
  const at = new Date(data.createdAt);
  return {
    id: data.issueId,
    project_id: data.projectId,
    local_id: null,
    title: data.title,
    description: data.description,
    status: data.status,
    assignee_ids: data.assigneeIds,
    label_ids: data.labelIds,
    author_id: data.createdById,
    updated_by_id: data.createdById,
    created_at: at,
    updated_at: at,
  };
}
