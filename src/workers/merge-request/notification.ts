import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { localIdEvents } from "../../events/core/local-id.ts";
import { idInStream } from "../../events/core/stream.ts";
import { discussionEvents } from "../../events/merge-request/discussion.ts";
import {
  type EditedDetails,
  mergeRequestEvents,
  mergeRequestStream,
} from "../../events/merge-request/merge-request.ts";
import { mentionsIn } from "../../platform/text-reference.ts";
import { findMergeRequestById } from "../../projections/merge-request/merge-request-query.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { type Notice, newMentions, notify, textSourceOf } from "../user/notify.ts";

/**
 * Sends mail to assignees, reviewers, those whom a request or a note mentions, and those whose awaited merge is not made,
 * if they may read it.
 */
export const mergeRequestNotification: Reactor = {
  name: "merge-request-notification",
  types: new Set([
    // Of a merge request: it has its number from here on.
    "LocalIdAssigned",
    "MergeRequestEdited",
    "MergeRequestAutoMergeCleared",
    "DiscussionStarted",
    "DiscussionReplied",
    "DiscussionNoteEdited",
  ]),
  react: async (event, deps) => notify(event, await noticeOf(event, deps), deps),
};

async function noticeOf(event: Recorded, deps: WorkerDeps): Promise<Notice | undefined> {
  const { store } = deps;
  if (event.type === "MergeRequestEdited") return requestNotice(event);
  if (event.type === "MergeRequestAutoMergeCleared") return droppedNotice(event, deps);
  if (event.type !== "LocalIdAssigned") return noteNotice(event);
  const { kind, subjectId } = decode(localIdEvents, event).data;
  if (kind !== "MERGE_REQUEST") return undefined;
  for await (const first of store.readStream(mergeRequestStream(subjectId))) {
    return requestNotice(first);
  }
  return undefined;
}

const assignedKind = "MERGE_REQUEST_ASSIGNED";

function requestNotice(recorded: Recorded): Notice | undefined {
  const { type, stream, data } = decode(mergeRequestEvents, recorded);
  const of = {
    about: idInStream(stream),
    said: textSourceOf(recorded),
    assignedKind,
    mentionKind: "MERGE_REQUEST_MENTIONED",
  } as const;
  if (type === "MergeRequestOpened") {
    const { projectId, details, openedById: byId } = data;
    const mentions = mentionsIn(details.description);
    return { ...of, projectId, byId, assigneeIds: peopleOf(details), mentions };
  }
  if (type !== "MergeRequestEdited") return undefined;
  const { projectId, details, previousDetails, editedById: byId } = data;
  const before = new Set(peopleOf(previousDetails));
  const assigneeIds = peopleOf(details).filter((id) => !before.has(id));
  const mentions = newMentions(details.description ?? "", previousDetails.description ?? "");
  return { ...of, projectId, byId, assigneeIds, mentions };
}

/** To who wanted the merge; taking it back and closing the request are no news. */
async function droppedNotice(
  recorded: Recorded,
  { store, db }: WorkerDeps,
): Promise<Notice | undefined> {
  const { type, stream, data, revision } = decode(mergeRequestEvents, recorded);
  if (type !== "MergeRequestAutoMergeCleared") return undefined;
  if (data.reason === "CANCELED" || data.reason === "CLOSED") return undefined;
  const about = idInStream(stream);
  const row = await findMergeRequestById(db, about);
  if (row === undefined) return undefined;
  let setById: string | undefined;
  for await (const earlier of store.readStreamBackwards(stream)) {
    const set = decode(mergeRequestEvents, earlier);
    if (earlier.revision > revision || set.type !== "MergeRequestAutoMergeSet") continue;
    setById = set.data.setById;
    break;
  }
  if (setById === undefined) return undefined;
  const kind = "AUTO_MERGE_DROPPED";
  const of = { about, projectId: row.project_id, assignedKind: kind, mentionKind: kind } as const;
  const to = { assigneeIds: [setById], mentions: [] };
  return { ...of, byId: null, ...to, said: textSourceOf(recorded) };
}

const peopleOf = ({ assignedUserIds, reviewerIds }: EditedDetails): readonly string[] => [
  ...new Set<string>([...assignedUserIds, ...reviewerIds]),
];

function noteNotice(recorded: Recorded): Notice | undefined {
  const { type, data } = decode(discussionEvents, recorded);
  const said = textSourceOf(recorded);
  const of = { assignedKind, mentionKind: "NOTE_MENTIONED", assigneeIds: [], said } as const;
  if (type === "DiscussionStarted") {
    const { discussionId: about, projectId, message, startedById: byId } = data;
    return { ...of, about, projectId, byId, mentions: mentionsIn(message) };
  }
  if (type === "DiscussionReplied") {
    const { noteId: about, projectId, message, repliedById: byId } = data;
    return { ...of, about, projectId, byId, mentions: mentionsIn(message) };
  }
  if (type !== "DiscussionNoteEdited") return undefined;
  const { noteId: about, projectId, message, previousMessage, editedById: byId } = data;
  return { ...of, about, projectId, byId, mentions: newMentions(message, previousMessage) };
}
