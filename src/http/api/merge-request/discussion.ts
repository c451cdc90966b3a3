import { z } from "zod";

import { discussion, discussionNotFound } from "../../../commands/merge-request/discussion.ts";
import { DiscussionId, ObjectId, Uuid } from "../../../events/core/ids.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import {
  type DiscussionNoteRow,
  discussionIdsBelow,
  discussionProjection,
  findNote,
  listDiscussions,
} from "../../../projections/merge-request/discussion.ts";
import { mergeRequestProjection } from "../../../projections/merge-request/merge-request.ts";
import type { MergeRequestRow } from "../../../projections/merge-request/merge-request-row.ts";
import { compareHeads } from "../../../services/merge-request/compare.ts";
import { mustSuffice } from "../../access/role-access.ts";
import type { AsOf } from "../../core/as-of.ts";
import { projectStampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { oneBelow } from "../../core/one-below.ts";
import { type Route, route } from "../../core/route.ts";
import { int, pathLengthMax, prose } from "../../core/schema.ts";
import { rangeOf } from "./changes.ts";
import { LineFields, lineIn } from "./discussion-line.ts";
import { NoteView, noteViews, type WhichReplies } from "./discussion-view.ts";
import { at, isDeveloper, mustFindMergeRequest, reading, type Writing, writing } from "./place.ts";
import type { Reading } from "./view.ts";

/** An event holds the text before and after; stores take 1 MiB as one. */
const messageLengthMax = 100_000;
/** Far beyond the replies of any discussion. */
const repliesFromMax = 1_000_000;
const path = `${at}/{localId}/discussions` as const;

const Message = prose(messageLengthMax).refine((text) => text.trim() !== "", {
  params: { code: "error.field.empty" },
  error: "Empty",
});

export const DiscussionView = z
  .object({ rootNote: NoteView, replies: z.array(NoteView) })
  .meta({ id: "Discussion" });

const FilePath = z.string().min(1).max(pathLengthMax);
const DiscussionQuery = z.object({
  filePath: z
    .union([z.array(FilePath).max(100), FilePath])
    .optional()
    .meta({
      description: "Repeatable: only discussions that began at a line of one of these files.",
    }),
});

const notesAsOf: AsOf = {
  readModels: [],
  numbered: {
    kind: "MERGE_REQUEST",
    readModel: mergeRequestProjection,
    below: {
      readModel: discussionProjection,
      idsOf: discussionIdsBelow,
      removed: { type: "DiscussionNoteDeleted", field: "mergeRequestId" },
    },
  },
};

const getDiscussions = route({
  ...reading,
  method: "get",
  path,
  operationId: "listDiscussions",
  summary: "List the discussions of a merge request, the oldest first",
  description:
    "Where a page has many or long replies, the newest of each discussion, up to 1 MiB; `repliesTotal` counts all. First notes over 2 MiB together are truncated.",
  query: DiscussionQuery,
  list: "restDiscussionModelList",
  asOf: notesAsOf,
  reply: DiscussionView,
  async handle({ params, query: { filePath }, page, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    const paths = filePath === undefined ? undefined : [filePath].flat();
    const { rows, total } = await listDiscussions(deps.db, row.id, { ...page, paths });
    const notes = await noteViews(deps, request, row, { rows, replies: "newest" });
    // Replies are beside the first note; its own would be the same once more.
    const items = notes.map(({ replies, ...note }) => ({
      rootNote: { ...note, replies: [] },
      replies: [...replies],
    }));
    return { items, totalElements: total };
  },
});

const getDiscussion = route({
  ...reading,
  method: "get",
  path: `${path}/{discussionUuid}`,
  operationId: "getDiscussion",
  summary: "Get a note of a discussion",
  description: "A first note comes with its replies, the oldest first, up to 3 MiB.",
  query: z.object({
    repliesFrom: int({ min: 0, max: repliesFromMax })
      .default(0)
      .meta({ description: "Replies before this one are left out; the oldest is 0." }),
  }),
  asOf: notesAsOf,
  reply: NoteView,
  async handle({ params, query: { repliesFrom }, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    return findNoteView(deps, request, row, params.discussionUuid, { from: repliesFrom });
  },
});

const createDiscussion = route({
  ...writing,
  method: "post",
  path: `${path}/create`,
  operationId: "createDiscussion",
  summary: "Start a discussion about a merge request, or about a line of it",
  body: LineFields.extend({ message: Message }).meta({ id: "NewDiscussion" }),
  reply: NoteView,
  async handle({ params, body, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    const range = await rangeOf(deps, request, row);
    const { repository, targetHead, sourceCommit } = range;
    const comparison = await compareHeads(repository, targetHead, sourceCommit);
    const { baseId } = comparison;
    const line = await lineIn(body, repository, { comparison, sourceCommit });
    const discussionId = DiscussionId.parse(deterministicId(request.commandId, "discussion"));
    const commits = {
      baseCommit: baseId === null ? null : ObjectId.parse(baseId),
      startCommit: ObjectId.parse(targetHead),
      targetCommit: ObjectId.parse(sourceCommit),
    };
    const { message } = body;
    const fields = { type: "StartDiscussion", discussionId, message, line, commits } as const;
    await request.execute(discussion, discussionId, { ...fields, ...within(row, request, deps) });
    return findNoteView(deps, request, row, discussionId);
  },
});

const replyToDiscussion = route({
  ...writing,
  method: "post",
  path: `${path}/reply`,
  operationId: "replyToDiscussion",
  summary: "Reply to a discussion",
  description: "A reply to a reply belongs to the first note.",
  body: z.object({ discussionUuid: Uuid, message: Message }).meta({ id: "NewDiscussionReply" }),
  reply: NoteView,
  async handle({ params, body, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    const { discussion_id } = await mustFindNote(deps, row, body.discussionUuid);
    const noteId = deterministicId(request.commandId, "reply");
    const fields = { type: "ReplyToDiscussion", noteId, message: body.message } as const;
    await request.execute(discussion, discussion_id, { ...fields, ...within(row, request, deps) });
    return findNoteView(deps, request, row, noteId);
  },
});

const editNote = route({
  ...writing,
  method: "put",
  path: `${path}/edit/{noteUuid}`,
  operationId: "editDiscussionNote",
  summary: "Edit a note",
  description: "By its author or an administrator of the project.",
  body: z.object({ message: Message }).meta({ id: "DiscussionNoteChange" }),
  reply: NoteView,
  async handle({ params, body, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    const note = await mustOwnNote(deps, row, params.noteUuid, request);
    const of = { noteId: note.id, ...within(row, request, deps) };
    const command = { type: "EditNote", message: body.message, ...of } as const;
    await request.execute(discussion, note.discussion_id, command);
    return findNoteView(deps, request, row, note.id);
  },
});

const deleteNote = route({
  ...writing,
  method: "delete",
  path: `${path}/delete/{noteUuid}`,
  operationId: "deleteDiscussionNote",
  summary: "Delete a note",
  description:
    "By its author or an administrator of the project. With the first note go all replies.",
  reply: "empty",
  async handle({ params, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    const note = await mustOwnNote(deps, row, params.noteUuid, request);
    const of = { noteId: note.id, ...within(row, request, deps) };
    await request.execute(discussion, note.discussion_id, { type: "DeleteNote", ...of });
  },
});

function settle(verb: "resolve" | "unresolve"): Route {
  const type = verb === "resolve" ? "ResolveDiscussion" : "UnresolveDiscussion";
  return route({
    ...writing,
    method: "post",
    path: `${path}/${verb}/{discussionUuid}`,
    operationId: `${verb}Discussion`,
    summary: verb === "resolve" ? "Resolve a discussion" : "Take a discussion up again",
    description: "By the author of the request or of the discussion, or a developer.",
    reply: NoteView,
    async handle({ params, request }, deps) {
      const row = await mustFindMergeRequest(deps, request, params.localId);
      const { discussion_id } = await mustFindNote(deps, row, params.discussionUuid);
      const root = await mustFindNote(deps, row, discussion_id);
      const isAuthor = [row.author_id, root.author_id].includes(request.userId);
      if (!isAuthor && !isDeveloper(request)) {
        mustSuffice(request.role, { resource: "project", role: "DEVELOPER" });
      }
      await request.execute(discussion, root.id, { type, ...within(row, request, deps) });
      return findNoteView(deps, request, row, root.id);
    },
  });
}

export const discussionRoutes: readonly Route[] = [
  createDiscussion,
  deleteNote,
  editNote,
  getDiscussion,
  getDiscussions,
  replyToDiscussion,
  settle("resolve"),
  settle("unresolve"),
];

function within({ id: mergeRequestId }: MergeRequestRow, request: Writing, deps: Deps) {
  return { mergeRequestId, ...projectStampOf(request, deps) } as const;
}

/** @throws Refusal 404, also for a note on another request */
const mustFindNote = oneBelow(findNote, discussionNotFound);

async function mustOwnNote(
  deps: Deps,
  row: MergeRequestRow,
  id: string,
  { userId, role }: Writing,
): Promise<DiscussionNoteRow> {
  const note = await mustFindNote(deps, row, id);
  if (note.author_id !== userId) mustSuffice(role, { resource: "project", role: "ADMIN" });
  return note;
}

/** What is written is answered without its replies. */
async function findNoteView(
  deps: Deps,
  request: Reading,
  row: MergeRequestRow,
  id: string,
  replies: WhichReplies = "none",
) {
  const rows = [await mustFindNote(deps, row, id)];
  const [view] = await noteViews(deps, request, row, { rows, replies });
  if (view === undefined) throw discussionNotFound();
  return view;
}
