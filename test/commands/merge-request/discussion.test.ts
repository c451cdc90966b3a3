import { discussion } from "../../../src/commands/merge-request/discussion.ts";
import {
  DiscussionId,
  MergeRequestId,
  ObjectId,
  ProjectId,
  UserId,
} from "../../../src/events/core/ids.ts";
import type { DiscussionEvent } from "../../../src/events/merge-request/discussion.ts";
import { specify } from "../../support/decider.ts";
import { at } from "../../support/history.ts";

const given = specify(discussion.decider);
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
