import type { Knex } from "knex";

import type { ObjectId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { discussionEvents } from "../../events/merge-request/discussion.ts";
import { change, put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { sharedLength } from "../list/text-share.ts";
import { counted } from "../list/total.ts";

const notes = defineTable({
  name: "discussion_note",
  columns: {
    id: "uuid",
    /** Of the first note; its own for the first note. */
    discussion_id: "uuid",
    merge_request_id: "uuid",
    project_id: "uuid",
    message: "text",
    author_id: column<UserId>("uuid"),
    created_at: "timestamptz",
    /** Place in the discussion. */
    revision: "bigint",
    /** The rest is null for replies. */
    resolved: "boolean null",
    base_commit: column<ObjectId | null>("text null"),
    start_commit: column<ObjectId | null>("text null"),
    target_commit: column<ObjectId | null>("text null"),
    new_path: "text null",
    old_path: "text null",
    new_line: "integer null",
    old_line: "integer null",
  },
  key: ["id"],
  indexes: ["(project_id)"],
  lateIndexes: [
    "(discussion_id, revision)",
    "(merge_request_id, created_at, id) where id = discussion_id",
  ],
});

export type DiscussionNoteRow = RowOf<typeof notes>;

export const discussionProjection = defineReadModel({
  name: "discussion",
  version: 2,
  tables: [notes],
  events: { ...discussionEvents, ...purgeEvents },
  effects: {
    DiscussionStarted: ({ revision, data }) =>
      put(notes, {
        id: data.discussionId,
        discussion_id: data.discussionId,
        merge_request_id: data.mergeRequestId,
        project_id: data.projectId,
        message: data.message,
        author_id: data.startedById,
        created_at: new Date(data.startedAt),
        revision,
        resolved: false,
        base_commit: data.commits.baseCommit,
        start_commit: data.commits.startCommit,
        target_commit: data.commits.targetCommit,
        new_path: data.line?.newPath ?? null,
        old_path: data.line?.oldPath ?? null,
        new_line: data.line?.newLine ?? null,
        old_line: data.line?.oldLine ?? null,
      }),
    DiscussionReplied: ({ stream, revision, data }) =>
      put(notes, {
        id: data.noteId,
        discussion_id: idInStream(stream),
        merge_request_id: data.mergeRequestId,
        project_id: data.projectId,
        message: data.message,
        author_id: data.repliedById,
        created_at: new Date(data.repliedAt),
        revision,
      }),
    DiscussionNoteEdited: ({ data: { noteId: id, message } }) => change(notes, { id }, { message }),
    DiscussionNoteDeleted: ({ data: { noteId, replyIds } }) =>
      [noteId, ...replyIds].map((id) => remove(notes, { id })),
    DiscussionResolved: ({ stream }) =>
      change(notes, { id: idInStream(stream) }, { resolved: true }),
    DiscussionUnresolved: ({ stream }) =>
      change(notes, { id: idInStream(stream) }, { resolved: false }),
    ProjectPurged: purgedFrom(notes),
  },
});

/** A note of this very request; another one's is not found. */
export function findNote(
  db: Knex,
  mergeRequestId: string,
  id: string,
): Promise<DiscussionNoteRow | undefined> {
  return db<DiscussionNoteRow>("discussion_note")
    .where({ id, merge_request_id: mergeRequestId })
    .first();
}

/** For those who know the note from an event. */
export function findNoteById(db: Knex, id: string): Promise<DiscussionNoteRow | undefined> {
  return db<DiscussionNoteRow>("discussion_note").where({ id }).first();
}

type Page = Readonly<{
  limit: number;
  offset: number;
  /** Only those that began at a line of one of these files. */
  paths?: readonly string[] | undefined;
}>;

/** A first note as a list shows it. */
export type ListedNoteRow = DiscussionNoteRow &
  Readonly<{
    /** The list is long: the message is only the beginning of it. */
    truncated: boolean;
  }>;

/** First notes of the discussions of a request, the oldest first; of long ones, the beginnings. */
export async function listDiscussions(
  db: Knex,
  mergeRequestId: string,
  { limit, offset, paths }: Page,
): Promise<Readonly<{ rows: readonly ListedNoteRow[]; total: number }>> {
  const roots = () => {
    const all = db("discussion_note").where("merge_request_id", mergeRequestId);
    if (paths !== undefined) {
      const files = [...paths];
      all.whereRaw("(new_path = any(?) or old_path = any(?))", [files, files]);
    }
    return all.whereRaw("id = discussion_id");
  };
  const ordered = () => roots().orderBy(["created_at", "id"]).limit(limit).offset(offset);
  const [shared, total] = await Promise.all([
    sharedLength(db, ordered().select({ text: "message" })),
    counted(roots()),
  ]);
  const rows = await ordered()
    .select<ListedNoteRow[]>("*")
    .select(
      db.raw("left(message, ?) as message", [shared]),
      db.raw("char_length(message) > ? as truncated", [shared]),
    );
  return { rows, total };
}

/** Which replies to a discussion are meant, as many as their bytes allow. */
type Replies = Readonly<{
  /** From this one on, the oldest first; else the newest. */
  from?: number | undefined;
  bytesMax: number;
}>;

/** What a reply takes in an answer besides its message. */
const replyBytes = 500;

/** Replies to these discussions in the order they were given: of each the same number, as far as it has so many. */
export async function repliesTo(
  db: Knex,
  discussionIds: readonly string[],
  { from, bytesMax }: Replies,
): Promise<readonly DiscussionNoteRow[]> {
  const order = from === undefined ? "desc" : "asc";
  // The length of a text is known without reading it.
  const text = `with reply as (
      select id, octet_length(message) + ? as bytes,
        row_number() over (partition by discussion_id order by revision ${order}) as turn
      from discussion_note where discussion_id = any(?) and id <> discussion_id
    ), summed as (
      select id, sum(bytes) over (order by turn, id) as bytes from reply where turn > ?
    )
    select note.* from discussion_note note join summed on summed.id = note.id
    where summed.bytes <= ? order by note.discussion_id, note.revision`;
  const bindings = [replyBytes, [...discussionIds], from ?? 0, bytesMax];
  const { rows } = await db.raw<{ rows: DiscussionNoteRow[] }>(text, bindings);
  return rows;
}

/** How many replies these discussions have; those without any are not in it. */
export async function countReplies(
  db: Knex,
  discussionIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows: readonly { discussion_id: string; total: bigint }[] = await db("discussion_note")
    .whereRaw("discussion_id = any(?) and id <> discussion_id", [[...discussionIds]])
    .groupBy("discussion_id")
    .select("discussion_id")
    .count({ total: "*" });
  return new Map(rows.map(({ discussion_id, total }) => [discussion_id, Number(total)]));
}

/** Ids of the discussions of a request; undefined when it is not there. */
export async function discussionIdsBelow(
  db: Knex,
  mergeRequestId: string,
): Promise<readonly string[] | undefined> {
  const request = await db("merge_request").where({ id: mergeRequestId }).first("id");
  if (request === undefined) return undefined;
  return db("discussion_note")
    .where("merge_request_id", mergeRequestId)
    .whereRaw("id = discussion_id")
    .pluck("id");
}

/** Ids of the discussions in a project, for sending history again. */
export async function discussionIdsOf(db: Knex, projectId: string): Promise<readonly string[]> {
  return db("discussion_note").where("project_id", projectId).distinct().pluck("discussion_id");
}
