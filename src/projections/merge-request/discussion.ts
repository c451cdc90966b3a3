import type { Knex } from "knex";

import type { ObjectId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { discussionEvents } from "../../events/merge-request/discussion.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { sharedLength } from "../core/text-share.ts";
import { counted } from "../core/total.ts";
import { tableOf } from "../core/writes.ts";

export type DiscussionNoteRow = Readonly<{
  id: string;
  /** Of the first note; its own for the first note. */
  discussion_id: string;
  merge_request_id: string;
  project_id: string;
  message: string;
  author_id: UserId;
  created_at: Date;
  /** Place in the discussion. */
  revision: bigint;
  /** The rest is null for replies. */
  resolved: boolean | null;
  base_commit: ObjectId | null;
  start_commit: ObjectId | null;
  target_commit: ObjectId | null;
  new_path: string | null;
  old_path: string | null;
  new_line: number | null;
  old_line: number | null;
}>;

const notes = tableOf<DiscussionNoteRow>({ name: "discussion_note", key: ["id"] });

export const discussionProjection = defineRowProjection({
  name: "discussion",
  version: 1,
  tables: ["discussion_note"],
  async create(tx) {
    await tx.schema.createTable("discussion_note", (table) => {
      table.uuid("id").primary();
      table.uuid("discussion_id").notNullable();
      table.uuid("merge_request_id").notNullable();
      table.uuid("project_id").notNullable().index();
      table.text("message").notNullable();
      table.uuid("author_id").notNullable();
      table.timestamp("created_at").notNullable();
      table.bigInteger("revision").notNullable();
      table.boolean("resolved");
      table.text("base_commit");
      table.text("start_commit");
      table.text("target_commit");
      table.text("new_path");
      table.text("old_path");
      table.integer("new_line");
      table.integer("old_line");
      table.index(["discussion_id", "revision"]);
    });
    await tx.raw(
      "create index discussion_root on discussion_note (merge_request_id, created_at, id) where id = discussion_id",
    );
  },
  events: { ...discussionEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: async (rows, { data }) =>
      dropRows(await rows.written(), data.projectId, { discussion_note: "project_id" }),
    DiscussionStarted: (rows, { revision, data }) => {
      const { discussionId, commits, line } = data;
      const row: DiscussionNoteRow = {
        id: discussionId,
        discussion_id: discussionId,
        merge_request_id: data.mergeRequestId,
        project_id: data.projectId,
        message: data.message,
        author_id: data.startedById,
        created_at: new Date(data.startedAt),
        revision,
        resolved: false,
        base_commit: commits.baseCommit,
        start_commit: commits.startCommit,
        target_commit: commits.targetCommit,
        new_path: line?.newPath ?? null,
        old_path: line?.oldPath ?? null,
        new_line: line?.newLine ?? null,
        old_line: line?.oldLine ?? null,
      };
      rows.put(notes, row);
    },
    DiscussionReplied: (rows, { stream, revision, data }) => {
      const row = {
        id: data.noteId,
        discussion_id: idInStream(stream),
        merge_request_id: data.mergeRequestId,
        project_id: data.projectId,
        message: data.message,
        author_id: data.repliedById,
        created_at: new Date(data.repliedAt),
        revision,
      };
      rows.put(notes, row);
    },
    DiscussionNoteEdited: (rows, { data: { noteId, message } }) =>
      rows.change(notes, { id: noteId }, { message }),
    DiscussionNoteDeleted: async (rows, { data: { noteId } }) => {
      const tx = await rows.written();
      // Replies go with the first note, which has the id of the discussion.
      await tx("discussion_note").where("id", noteId).orWhere("discussion_id", noteId).delete();
    },
    DiscussionResolved: (rows, { stream }) =>
      rows.change(notes, { id: idInStream(stream) }, { resolved: true }),
    DiscussionUnresolved: (rows, { stream }) =>
      rows.change(notes, { id: idInStream(stream) }, { resolved: false }),
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
