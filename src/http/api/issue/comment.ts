import { z } from "zod";

import { commentNotFound, issueComment } from "../../../commands/issue/issue-comment.ts";
import { IssueCommentId } from "../../../events/issue/issue-comment.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { elapsedText } from "../../../platform/time/elapsed-text.ts";
import { issueProjection } from "../../../projections/issue/issue.ts";
import {
  findIssueComment,
  type IssueCommentRow,
  issueCommentIdsBelow,
  issueCommentProjection,
  type ListedCommentRow,
  listIssueComments,
} from "../../../projections/issue/issue-comment.ts";
import type { NumberedIssueRow } from "../../../projections/issue/list.ts";
import { findUsersById } from "../../../projections/user/user.ts";
import { projectStampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { instant } from "../../core/schema.ts";
import { participantView } from "../user/participant.ts";
import { UserView } from "../user/view.ts";
import { Text } from "./body.ts";
import { mustBeAuthorOr, mustFindIssue, reading, type Writing, writing } from "./issue.ts";

const path = "/project/{ownerAlias}/{projectAlias}/issue-discussion/{localId}";

export const CommentView = z
  .object({
    id: z.uuid(),
    message: z.string(),
    truncated: z.boolean().optional().meta({
      description:
        "The message is the beginning of a long one: a smaller page of the list shows more of it.",
    }),
    author: UserView,
    createdAt: instant(),
    createTimeDifference: z.string().meta({ examples: ["5 minutes ago"] }),
  })
  .meta({ id: "IssueComment" });

const Note = z.object({ note: Text }).meta({ id: "IssueNote" });

const getComments = route({
  ...reading,
  method: "get",
  path,
  operationId: "listIssueComments",
  summary: "List the comments of an issue",
  description:
    "The oldest first. Where the messages of a page are over 2 MiB together, each is cut to an equal share and `truncated`.",
  list: "issueDiscussionList",
  asOf: {
    readModels: [],
    numbered: {
      kind: "ISSUE",
      readModel: issueProjection,
      below: {
        readModel: issueCommentProjection,
        idsOf: issueCommentIdsBelow,
        removed: { type: "IssueCommentDeleted", field: "issueId" },
      },
    },
  },
  reply: CommentView,
  async handle({ params, page, request }, deps) {
    const { id } = await mustFindIssue(deps, request, params.localId);
    const { rows, total } = await listIssueComments(deps.db, id, page);
    return { items: await viewOf(rows, deps), totalElements: total };
  },
});

const postComment = route({
  ...writing,
  method: "post",
  path: `${path}/create`,
  operationId: "createIssueComment",
  summary: "Comment on an issue",
  body: Note,
  reply: CommentView,
  async handle({ params, body: { note: message }, request }, deps) {
    const row = await mustFindIssue(deps, request, params.localId);
    const issueCommentId = IssueCommentId.parse(deterministicId(request.commandId, "comment"));
    const written = { issueCommentId, message, ...about(row, request, deps) };
    const command = { type: "CreateIssueComment", ...written } as const;
    await request.execute(issueComment, issueCommentId, command);
    return findView(row, issueCommentId, deps);
  },
});

const putComment = route({
  ...writing,
  method: "put",
  path: `${path}/{commentId}/edit`,
  operationId: "editIssueComment",
  summary: "Edit a comment on an issue",
  description: "For its author and administrators of the project.",
  body: Note,
  reply: CommentView,
  async handle({ params: { localId, commentId }, body: { note: message }, request }, deps) {
    const row = await mustFindIssue(deps, request, localId);
    await mustFindOwn(row, commentId, request, deps);
    const command = { type: "EditIssueComment", message, ...about(row, request, deps) } as const;
    await request.execute(issueComment, commentId, command);
    return findView(row, commentId, deps);
  },
});

const removeComment = route({
  ...writing,
  method: "delete",
  path: `${path}/{commentId}/delete`,
  operationId: "deleteIssueComment",
  summary: "Delete a comment on an issue",
  description: "For its author and administrators of the project.",
  reply: "empty",
  async handle({ params: { localId, commentId }, request }, deps) {
    const row = await mustFindIssue(deps, request, localId);
    await mustFindOwn(row, commentId, request, deps);
    const command = { type: "DeleteIssueComment", ...about(row, request, deps) } as const;
    await request.execute(issueComment, commentId, command);
  },
});

export const issueCommentRoutes: readonly Route[] = [
  getComments,
  postComment,
  putComment,
  removeComment,
];

const about = ({ id: issueId }: NumberedIssueRow, request: Writing, deps: Deps) => ({
  issueId,
  ...projectStampOf(request, deps),
});

/** @throws Refusal 404, also for a comment on another issue; 403 when another user wrote it */
async function mustFindOwn(
  issue: NumberedIssueRow,
  id: IssueCommentId,
  request: Writing,
  { db }: Deps,
): Promise<void> {
  const row = await findIssueComment(db, issue.id, id);
  if (row === undefined) throw commentNotFound();
  mustBeAuthorOr("ADMIN", row.author_id, request);
}

async function findView(issue: NumberedIssueRow, id: IssueCommentId, deps: Deps) {
  const row = await findIssueComment(deps.db, issue.id, id);
  const [comment] = row === undefined ? [] : await viewOf([row], deps);
  if (comment === undefined) throw commentNotFound();
  return comment;
}

async function viewOf(
  rows: readonly (IssueCommentRow | ListedCommentRow)[],
  { db, now }: Pick<Deps, "db" | "now">,
): Promise<readonly z.input<typeof CommentView>[]> {
  const users = await findUsersById(db, [...new Set(rows.map(({ author_id }) => author_id))]);
  return rows.map((row) => ({
    id: row.id,
    message: row.message,
    ...("truncated" in row && row.truncated && { truncated: true }),
    author: participantView(users.get(row.author_id), row.author_id),
    createdAt: row.created_at,
    createTimeDifference: elapsedText(row.created_at, now()),
  }));
}
