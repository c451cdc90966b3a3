import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { IssueId } from "../../events/issue/issue.ts";
import {
  type IssueCommentId,
  issueCommentEvents,
  issueCommentStream,
} from "../../events/issue/issue-comment.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

/** The issue that the request names; a comment on another issue does not exist for it. */
type Within = Readonly<{ issueId: IssueId; projectId: ProjectId; by: UserId; at: string }>;

export type IssueCommentCommand =
  | (Readonly<{
      type: "CreateIssueComment";
      issueCommentId: IssueCommentId;
      message: string;
    }> &
      Within)
  | (Readonly<{ type: "EditIssueComment"; message: string }> & Within)
  | (Readonly<{ type: "DeleteIssueComment" }> & Within);

export type IssueCommentState =
  | Readonly<{ status: "absent" }>
  | Readonly<{ status: "created" | "deleted"; issueId: IssueId; message: string }>;

export const issueComment: Slice<
  IssueCommentState,
  IssueCommentCommand,
  typeof issueCommentEvents
> = {
  events: issueCommentEvents,
  stream: issueCommentStream,
  initialState: { status: "absent" },

  decide(state, command) {
    const { issueId, projectId, by, at } = command;
    switch (command.type) {
      case "CreateIssueComment": {
        if (state.status !== "absent") {
          throw new Refusal("conflict", "comment.exists", "This comment already exists.");
        }
        const { issueCommentId, message } = command;
        const data = { issueCommentId, issueId, projectId, message };
        return [{ type: "IssueCommentCreated", data: { ...data, createdById: by, createdAt: at } }];
      }
      case "EditIssueComment": {
        const { message: previousMessage } = mustExist(state, command);
        const { message } = command;
        if (message === previousMessage) return [];
        const data = { issueId, projectId, message, previousMessage };
        return [{ type: "IssueCommentEdited", data: { ...data, editedById: by, editedAt: at } }];
      }
      case "DeleteIssueComment": {
        // A repeated deletion changes nothing.
        if (state.status === "deleted" && state.issueId === issueId) return [];
        const { message } = mustExist(state, command);
        const data = { issueId, projectId, message };
        return [{ type: "IssueCommentDeleted", data: { ...data, deletedById: by, deletedAt: at } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "IssueCommentCreated": {
        const { issueId, message } = event.data;
        return { status: "created", issueId, message };
      }
      case "IssueCommentEdited":
        return state.status === "absent" ? state : { ...state, message: event.data.message };
      case "IssueCommentDeleted":
        return state.status === "absent" ? state : { ...state, status: "deleted" };
      default:
        return unreachable(event);
    }
  },
};

export function commentNotFound(): Refusal {
  return new Refusal("not_found", "comment.not_found", "The issue has no such comment.");
}

function mustExist(state: IssueCommentState, { issueId }: Within) {
  if (state.status === "created" && state.issueId === issueId) return state;
  throw commentNotFound();
}
