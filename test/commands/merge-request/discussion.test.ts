import { discussion } from "../../../src/commands/merge-request/discussion.ts";
import {
  DiscussionId,
  MergeRequestId,
  ObjectId,
  ProjectId,
  UserId,
} from "../../../src/events/core/ids.ts";
import type { DiscussionEvent } from "../../../src/events/merge-request/discussion.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(discussion);
const by = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const discussionId = DiscussionId.parse("11111111-2222-4333-8444-555566667777");
const within = {
  mergeRequestId: MergeRequestId.parse("21111111-2222-4333-8444-555566667777"),
  projectId: ProjectId.parse("31111111-2222-4333-8444-555566667777"),
};
const commit = ObjectId.parse("1".repeat(40));
const commits = { baseCommit: null, startCommit: commit, targetCommit: commit };

const started: DiscussionEvent = {
  type: "DiscussionStarted",
  data: {
    discussionId,
    ...within,
    message: "First",
    line: null,
    commits,
    startedById: by,
    startedAt: at,
  },
};
const idOf = (index: number) => `41111111-2222-4333-8444-${String(index).padStart(12, "0")}`;
const replied = (index: number, message: string): DiscussionEvent => ({
  type: "DiscussionReplied",
  data: { noteId: idOf(index), ...within, message, repliedById: by, repliedAt: at },
});
const edited = (index: number, message: string, previousMessage: string): DiscussionEvent => ({
  type: "DiscussionNoteEdited",
  data: { noteId: idOf(index), ...within, message, previousMessage, editedById: by, editedAt: at },
});
const deleted = (index: number, message: string): DiscussionEvent => ({
  type: "DiscussionNoteDeleted",
  data: { noteId: idOf(index), ...within, replyIds: [], message, deletedById: by, deletedAt: at },
});
const reply = (message: string) =>
  ({ type: "ReplyToDiscussion", noteId: idOf(999), message, ...within, by, at }) as const;
const edit = (index: number, message: string) =>
  ({ type: "EditNote", noteId: idOf(index), message, ...within, by, at }) as const;

const long = "x".repeat(100_000);
const many = (count: number) => Array.from({ length: count }, (_, index) => replied(index, long));
const tooLarge = "discussion.too_large";

describe("the notes of a discussion", () => {
  it("have at most 2 MiB together", () => {
    given(started, ...many(19))
      .when(reply(long))
      .gives(replied(999, long));
    given(started, ...many(20))
      .when(reply(long))
      .refuses(tooLarge);
    given(started, ...many(20))
      .when(reply("x"))
      .gives(replied(999, "x"));
  });

  it("are counted as JSON, where a quotation mark takes two bytes", () => {
    const quoted = '"'.repeat(100_000);
    const notes = Array.from({ length: 10 }, (_, index) => replied(index, quoted));
    given(started, ...notes)
      .when(reply(long))
      .refuses(tooLarge);
  });

  it("grow by edits within the same limit, and may shrink when they are over it", () => {
    given(started, ...many(20), replied(500, "x"))
      .when(edit(500, long))
      .refuses(tooLarge);
    given(started, ...many(22))
      .when(edit(3, "short"))
      .gives(edited(3, "short", long));
  });

  it("make room when they are deleted", () => {
    given(started, ...many(20), deleted(0, long))
      .when(reply(long))
      .gives(replied(999, long));
  });

  it("have at most 8 MiB with what was edited and deleted", () => {
    const other = "y".repeat(100_000);
    const edits = Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0 ? edited(0, other, long) : edited(0, long, other),
    );
    const past = [started, replied(0, long), ...edits];
    given(...past)
      .when(edit(0, other))
      .gives(edited(0, other, long));
    given(...past, edited(0, other, long))
      .when(edit(0, "x"))
      .refuses(tooLarge);
  });
});

describe("a discussion", () => {
  const common = { by, at, ...within } as const;
  const start = {
    type: "StartDiscussion",
    ...{ discussionId, message: "First", line: null, commits, ...common },
  } as const;
  const remove = (noteId: string) => ({ type: "DeleteNote", noteId, ...common }) as const;
  const removed = (noteId: string, message: string, replyIds: string[] = []): DiscussionEvent => ({
    type: "DiscussionNoteDeleted",
    data: { noteId, ...within, replyIds, message, deletedById: by, deletedAt: at },
  });
  const resolved: DiscussionEvent = {
    type: "DiscussionResolved",
    data: { resolvedById: by, resolvedAt: at },
  };
  const unresolved: DiscussionEvent = {
    type: "DiscussionUnresolved",
    data: { unresolvedById: by, unresolvedAt: at },
  };
  const resolve = { type: "ResolveDiscussion", ...common } as const;
  const unresolve = { type: "UnresolveDiscussion", ...common } as const;

  it("is started once", () => {
    given().when(start).gives(started);
    given(started).when(start).refuses("discussion.exists");
    given(started, removed(discussionId, "First")).when(start).refuses("discussion.exists");
  });

  it("of another merge request, that is deleted or never was, is not found", () => {
    const elsewhere = MergeRequestId.parse("51111111-2222-4333-8444-555566667777");
    const commands = [reply("More"), edit(0, "More"), remove(discussionId), resolve, unresolve];
    for (const command of commands) {
      given(started)
        .when({ ...command, mergeRequestId: elsewhere })
        .refuses("discussion.not_found");
      given().when(command).refuses("discussion.not_found");
      given(started, removed(discussionId, "First")).when(command).refuses("discussion.not_found");
    }
  });

  it("has at most 1,000 notes", () => {
    const notes = Array.from({ length: 999 }, (_, index) => replied(index, "x"));
    given(started, ...notes.slice(1))
      .when(reply("x"))
      .gives(replied(999, "x"));
    given(started, ...notes)
      .when(reply("x"))
      .refuses("discussion.too_many_notes");
  });

  it("records an edit that changes a note, and none of a note that it does not have", () => {
    const past = [started, replied(1, "One")];
    given(...past)
      .when(edit(1, "Two"))
      .gives(edited(1, "Two", "One"));
    given(...past)
      .when(edit(1, "One"))
      .givesNothing();
    given(...past)
      .when(edit(2, "Two"))
      .refuses("discussion.not_found");
    given(...past, removed(idOf(1), "One"))
      .when(edit(1, "Two"))
      .refuses("discussion.not_found");
  });

  it("loses a reply alone, and all of them with its first note; a repetition changes nothing", () => {
    const past = [started, replied(1, "One"), replied(2, "Two")];
    const gone = removed(idOf(1), "One");
    given(...past)
      .when(remove(idOf(1)))
      .gives(gone);
    given(...past, gone)
      .when(remove(idOf(1)))
      .givesNothing();
    given(...past)
      .when(remove(idOf(3)))
      .refuses("discussion.not_found");
    given(...past)
      .when(remove(discussionId))
      .gives(removed(discussionId, "First", [idOf(1), idOf(2)]));
    given(...past, gone)
      .when(remove(discussionId))
      .gives(removed(discussionId, "First", [idOf(2)]));
  });

  it("is resolved and opened again, each once", () => {
    given(started).when(unresolve).givesNothing();
    given(started).when(resolve).gives(resolved);
    given(started, resolved).when(resolve).givesNothing();
    given(started, resolved).when(unresolve).gives(unresolved);
    given(started, resolved, unresolved).when(resolve).gives(resolved);
  });
});
