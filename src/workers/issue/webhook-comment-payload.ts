import { decode } from "../../events/core/decode.ts";
import { issueCommentEvents, issueCommentStream } from "../../events/issue/issue-comment.ts";
import { issueCommentIdsOf } from "../../projections/issue/issue-comment.ts";
import { findIssueById } from "../../projections/issue/list.ts";
import type { PayloadBuilder } from "../webhook/payload.ts";

/** NEW_ISSUE_NOTE: a comment was written. */
export const issueCommentPayload: PayloadBuilder = {
  types: new Set(["IssueCommentCreated"]),
  streams: async (projectId, { db }) =>
    (await issueCommentIdsOf(db, projectId)).map((id) => issueCommentStream(id)),
  async build(recorded, { db }) {
    const { type, data } = decode(issueCommentEvents, recorded);
    if (type !== "IssueCommentCreated") return undefined;
    const { issueCommentId: id, issueId, projectId, message, createdById } = data;
    return {
      projectId,
      topic: "NEW_ISSUE_NOTE",
      fields: async () => {
        const issue_local_id = (await findIssueById(db, issueId))?.local_id ?? null;
        const issue_note = { id, user_id: createdById, issue_id: issueId, message, issue_local_id };
        return { issue_note };
      },
    };
  },
};
