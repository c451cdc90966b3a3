import type { DiscussionId, MergeRequestId, ProjectId, UserId } from "../../events/core/ids.ts";
import {
  type DiscussionCommits,
  type DiscussionLine,
  discussionEvents,
  discussionStream,
} from "../../events/merge-request/discussion.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import { jsonBytes } from "../../platform/storable-text.ts";
import type { Slice } from "../core/decider.ts";

/** Every command on a discussion reads all of its events. */
const notesMax = 1_000;
/** Bytes of the messages of all notes as JSON: one answer contains them. */
const messageBytesMax = 2 * 1024 ** 2;
/** Bytes of the messages in all events, edited and deleted ones included: every command reads them. */
const historyBytesMax = 8 * 1024 ** 2;

/** The request that the caller named; a discussion of another one does not exist for it. */
type Within = Readonly<{
  mergeRequestId: MergeRequestId;
  projectId: ProjectId;
  by: UserId;
  at: string;
}>;

export type DiscussionCommand =
  | (Within &
      Readonly<{
        type: "StartDiscussion";
        discussionId: DiscussionId;
        message: string;
        line: DiscussionLine | null;
        commits: DiscussionCommits;
      }>)
  | (Within & Readonly<{ type: "ReplyToDiscussion"; noteId: string; message: string }>)
  | (Within & Readonly<{ type: "EditNote"; noteId: string; message: string }>)
  | (Within & Readonly<{ type: "DeleteNote"; noteId: string }>)
  | (Within & Readonly<{ type: "ResolveDiscussion" }>)
  | (Within & Readonly<{ type: "UnresolveDiscussion" }>);

type Started = Readonly<{
  status: "started";
  discussionId: DiscussionId;
  mergeRequestId: MergeRequestId;
  resolved: boolean;
  /** Message by note; the first one is the root. */
  notes: ReadonlyMap<string, string>;
  /** Bytes of the present messages as JSON. */
  messageBytes: number;
  /** Bytes of all messages in events as JSON. */
  historyBytes: number;
  deleted: ReadonlySet<string>;
}>;

export type DiscussionState = Readonly<{ status: "absent" | "deleted" }> | Started;

export const discussion: Slice<DiscussionState, DiscussionCommand, typeof discussionEvents> = {
  events: discussionEvents,
  stream: discussionStream,
  initialState: { status: "absent" },

  decide(state, command) {
    const { mergeRequestId, projectId, by, at } = command;
    const within = { mergeRequestId, projectId };
    switch (command.type) {
      case "StartDiscussion": {
        if (state.status !== "absent") {
          throw new Refusal("conflict", "discussion.exists", "This discussion already exists.");
        }
        const { discussionId, message, line, commits } = command;
        const data = { discussionId, ...within, message, line, commits };
        return [{ type: "DiscussionStarted", data: { ...data, startedById: by, startedAt: at } }];
      }
      case "ReplyToDiscussion": {
        const started = mustBeIn(state, command);
        if (started.notes.size >= notesMax) throw tooMany();
        const { noteId, message } = command;
        mustHaveRoom(started, message);
        const data = { noteId, ...within, message, repliedById: by, repliedAt: at };
        return [{ type: "DiscussionReplied", data }];
      }
      case "EditNote": {
        const { noteId, message } = command;
        const started = mustBeIn(state, command);
        const previousMessage = mustHold(started, noteId);
        if (message === previousMessage) return [];
        mustHaveRoom(started, message, previousMessage);
        const data = { noteId, ...within, message, previousMessage, editedById: by, editedAt: at };
        return [{ type: "DiscussionNoteEdited", data }];
      }
      case "DeleteNote": {
        const { noteId } = command;
        const started = mustBeIn(state, command);
        if (started.deleted.has(noteId)) return [];
        const message = mustHold(started, noteId);
        const others = [...started.notes.keys()].filter((id) => id !== noteId);
        const replyIds = noteId === started.discussionId ? others : [];
        const data = { noteId, ...within, replyIds, message, deletedById: by, deletedAt: at };
        return [{ type: "DiscussionNoteDeleted", data }];
      }
      case "ResolveDiscussion":
        if (mustBeIn(state, command).resolved) return [];
        return [{ type: "DiscussionResolved", data: { resolvedById: by, resolvedAt: at } }];
      case "UnresolveDiscussion":
        if (!mustBeIn(state, command).resolved) return [];
        return [{ type: "DiscussionUnresolved", data: { unresolvedById: by, unresolvedAt: at } }];
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "DiscussionStarted": {
        const { discussionId, mergeRequestId, message } = event.data;
        const notes = new Map([[discussionId as string, message]]);
        const bytes = jsonBytes(message);
        const sizes = { messageBytes: bytes, historyBytes: bytes };
        const started = { notes, ...sizes, deleted: new Set<string>(), resolved: false };
        return { status: "started", discussionId, mergeRequestId, ...started };
      }
      case "DiscussionReplied":
      case "DiscussionNoteEdited": {
        const { noteId, message } = event.data;
        return change(state, ({ notes, messageBytes, historyBytes }) => {
          const bytes = jsonBytes(message);
          const before = jsonBytes(notes.get(noteId) ?? "");
          return {
            notes: new Map(notes).set(noteId, message),
            messageBytes: messageBytes + bytes - before,
            historyBytes: historyBytes + bytes + before,
          };
        });
      }
      case "DiscussionNoteDeleted": {
        const { noteId } = event.data;
        if (state.status === "started" && noteId === state.discussionId) {
          return { status: "deleted" };
        }
        return change(state, ({ notes, deleted, messageBytes, historyBytes }) => {
          const bytes = jsonBytes(notes.get(noteId) ?? "");
          return {
            notes: new Map([...notes].filter(([id]) => id !== noteId)),
            messageBytes: messageBytes - bytes,
            historyBytes: historyBytes + bytes,
            deleted: new Set(deleted).add(noteId),
          };
        });
      }
      case "DiscussionResolved":
        return change(state, () => ({ resolved: true }));
      case "DiscussionUnresolved":
        return change(state, () => ({ resolved: false }));
      default:
        return unreachable(event);
    }
  },
};

function change(
  state: DiscussionState,
  to: (started: Started) => Partial<Started>,
): DiscussionState {
  return state.status === "started" ? { ...state, ...to(state) } : state;
}

function mustBeIn(state: DiscussionState, { mergeRequestId }: Within): Started {
  if (state.status === "started" && state.mergeRequestId === mergeRequestId) return state;
  throw discussionNotFound();
}

function mustHold({ notes }: Started, noteId: string): string {
  const message = notes.get(noteId);
  if (message === undefined) throw discussionNotFound();
  return message;
}

/** @throws Refusal 422 `discussion.too_large` */
function mustHaveRoom(
  { messageBytes, historyBytes }: Started,
  message: string,
  previousMessage = "",
): void {
  const bytes = jsonBytes(message);
  const before = jsonBytes(previousMessage);
  // A discussion over the limit may still become smaller.
  const grows = bytes > before && messageBytes + bytes - before > messageBytesMax;
  if (!grows && historyBytes + bytes + before <= historyBytesMax) return;
  const [most, history] = [messageBytesMax, historyBytesMax].map((max) => max / 1024 ** 2);
  const text = `The notes of a discussion have at most ${most} MiB, ${history} MiB with what was edited and deleted. Start another one.`;
  throw new Refusal("unprocessable", "discussion.too_large", text);
}

export function discussionNotFound(): Refusal {
  return new Refusal("not_found", "discussion.not_found", "Discussion note not found.");
}

function tooMany(): Refusal {
  const message = `A discussion has at most ${notesMax} notes. Start another one.`;
  return new Refusal("unprocessable", "discussion.too_many_notes", message);
}
