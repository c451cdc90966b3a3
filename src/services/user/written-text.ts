import { defined } from "../../commands/core/defined.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { issueEvents } from "../../events/issue/issue.ts";
import { issueCommentEvents } from "../../events/issue/issue-comment.ts";
import { discussionEvents } from "../../events/merge-request/discussion.ts";
import { mergeRequestEvents } from "../../events/merge-request/merge-request.ts";
import type { TextSource } from "../../events/user/mail.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";

/** Who wrote a text, and what it says; an edit of other fields says nothing of it. */
export type WrittenText = Readonly<{ byId: string; text?: string }>;

const textEvents = {
  ...issueEvents,
  ...issueCommentEvents,
  ...mergeRequestEvents,
  ...discussionEvents,
} as const;

export async function textAt(
  store: Pick<EventStore, "readStream">,
  { stream, revision }: TextSource,
): Promise<WrittenText | undefined> {
  for await (const event of store.readStream(stream, BigInt(revision))) return writtenTextOf(event);
  return undefined;
}

/** Undefined for an event without a text in which people are mentioned. */
function writtenTextOf(recorded: Recorded): WrittenText | undefined {
  const { type, data } = decode(textEvents, recorded);
  switch (type) {
    case "IssueCreated":
      return { byId: data.createdById, text: data.description };
    case "IssueEdited":
      return { byId: data.editedById, ...defined({ text: data.details.description }) };
    case "IssueCommentCreated":
      return { byId: data.createdById, text: data.message };
    case "IssueCommentEdited":
      return { byId: data.editedById, text: data.message };
    case "MergeRequestOpened":
      return { byId: data.openedById, text: data.details.description };
    case "MergeRequestEdited":
      return { byId: data.editedById, ...defined({ text: data.details.description }) };
    case "DiscussionStarted":
      return { byId: data.startedById, text: data.message };
    case "DiscussionReplied":
      return { byId: data.repliedById, text: data.message };
    case "DiscussionNoteEdited":
      return { byId: data.editedById, text: data.message };
    default:
      return undefined;
  }
}
