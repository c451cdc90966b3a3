import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { localIdEvents } from "../../events/core/local-id.ts";
import { idInStream } from "../../events/core/stream.ts";
import { issueEvents, issueStream } from "../../events/issue/issue.ts";
import { issueCommentEvents } from "../../events/issue/issue-comment.ts";
import { mentionsIn } from "../../platform/text-reference.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { type Notice, newMentions, notify, textSourceOf } from "../user/notify.ts";

/** Sends mail to those whom an event assigns or mentions, if they may read the project. */
export const issueNotification: Reactor = {
  name: "issue-notification",
  types: new Set([
    // Of an issue: it has its number from here on.
    "LocalIdAssigned",
    "IssueEdited",
    "IssueCommentCreated",
    "IssueCommentEdited",
  ]),
  react: async (event, deps) => notify(event, await noticeOf(event, deps), deps),
};

async function noticeOf(event: Recorded, { store }: WorkerDeps): Promise<Notice | undefined> {
  if (event.type === "LocalIdAssigned") {
    const { kind, subjectId } = decode(localIdEvents, event).data;
    if (kind !== "ISSUE") return undefined;
    for await (const first of store.readStream(issueStream(subjectId))) return issueNotice(first);
    return undefined;
  }
  return event.type === "IssueEdited" ? issueNotice(event) : commentNotice(event);
}

function issueNotice(recorded: Recorded): Notice | undefined {
  const { type, stream, data } = decode(issueEvents, recorded);
  const of = {
    about: idInStream(stream),
    said: textSourceOf(recorded),
    assignedKind: "ISSUE_ASSIGNED",
    mentionKind: "ISSUE_MENTIONED",
  } as const;
  if (type === "IssueCreated") {
    const { projectId, assigneeIds, description, createdById: byId } = data;
    return { ...of, projectId, byId, assigneeIds, mentions: mentionsIn(description) };
  }
  if (type !== "IssueEdited") return undefined;
  const { projectId, details, previousDetails, editedById: byId } = data;
  const { assigneeIds = [], description = "" } = details;
  const before = new Set<string>(previousDetails.assigneeIds);
  return {
    ...of,
    projectId,
    byId,
    assigneeIds: assigneeIds.filter((id) => !before.has(id)),
    mentions: newMentions(description, previousDetails.description ?? ""),
  };
}

function commentNotice(recorded: Recorded): Notice | undefined {
  const { type, stream, data } = decode(issueCommentEvents, recorded);
  const kinds = { assignedKind: "ISSUE_ASSIGNED", mentionKind: "COMMENT_MENTIONED" } as const;
  const of = { ...kinds, assigneeIds: [], said: textSourceOf(recorded) };
  const { projectId, message } = data;
  const about = idInStream(stream);
  if (type === "IssueCommentCreated") {
    return { ...of, about, projectId, byId: data.createdById, mentions: mentionsIn(message) };
  }
  if (type !== "IssueCommentEdited") return undefined;
  const mentions = newMentions(message, data.previousMessage);
  return { ...of, about, projectId, byId: data.editedById, mentions };
}
