import { z } from "zod";
import type { Repository } from "../../../git/repository.ts";
import { elapsedText } from "../../../platform/time/elapsed-text.ts";
import {
  countReplies,
  type DiscussionNoteRow,
  type ListedNoteRow,
  repliesTo,
} from "../../../projections/merge-request/discussion.ts";
import type { MergeRequestRow } from "../../../projections/merge-request/merge-request-row.ts";
import { findUsersById } from "../../../projections/user/user.ts";
import { compareHeads } from "../../../services/merge-request/compare.ts";
import { followLine, type Place } from "../../../services/merge-request/follow-line.ts";
import type { Deps } from "../../core/deps.ts";
import { instant } from "../../core/schema.ts";
import { participantView } from "../user/participant.ts";
import { UserView } from "../user/view.ts";
import { type Range, rangeOf } from "./changes.ts";
import type { Reading } from "./view.ts";

const nullableText = z.string().nullable();
const line = z.int().nullable();

const fields = {
  uuid: z.uuid(),
  discussionUuid: z
    .uuid()
    .nullable()
    .meta({ description: "Of the first note; null for that one." }),
  mergeRequestUuid: z.uuid().nullable().meta({ description: "Null for replies." }),
  type: z.literal("MERGE_REQUEST_COMMENT"),
  author: UserView,
  message: z.string(),
  rawMessage: z.string(),
  truncated: z.boolean().meta({
    description: "The message is the beginning of a long one: a list shows no more of it.",
  }),
  repliesTotal: z.int().meta({ description: "Of the discussion, shown or not; 0 for replies." }),
  createdAt: instant(),
  formatedDate: z.string().meta({ examples: ["5 minutes ago"] }),
  resolved: z.boolean(),
  resolvable: z.null(),
  baseCommit: nullableText,
  startCommit: nullableText,
  targetCommit: nullableText,
  newPath: nullableText,
  oldPath: nullableText,
  newLine: line.meta({ description: "Where the line is now; null when it is gone." }),
  oldLine: line.meta({ description: "Where the line is now; null when it is gone." }),
  initialNewLine: line.meta({ description: "Where the line was when the discussion began." }),
  outdated: z.boolean().meta({ description: "The line is not in the newest version any more." }),
};

const ReplyView = z.object({ ...fields, replies: z.array(z.never()).max(0) });
export const NoteView = z
  .object({ ...fields, replies: z.array(ReplyView.meta({ id: "DiscussionReply" })) })
  .meta({ id: "DiscussionNote" });
type Note = z.input<typeof NoteView>;

/** Of the replies in one answer: in a list, and to one discussion, which may have 2 MiB as JSON. */
const bytesMax = { list: 1024 ** 2, discussion: 3 * 1024 ** 2 };

/** Which replies come with first notes: those from a number on, the newest of a list, or none. */
export type WhichReplies = Readonly<{ from: number }> | "newest" | "none";

type Shown = Readonly<{
  rows: readonly (DiscussionNoteRow | ListedNoteRow)[];
  replies: WhichReplies;
}>;

/** First notes with their replies, lines followed to the newest version; of the past as they were said. */
export async function noteViews(
  deps: Deps,
  request: Pick<Reading, "project">,
  mergeRequest: MergeRequestRow,
  { rows, replies: which }: Shown,
): Promise<readonly Note[]> {
  const roots = rows.filter(({ id, discussion_id }) => id === discussion_id);
  const rootIds = roots.map(({ id }) => id);
  const totals = await countReplies(deps.db, rootIds);
  const replies = await repliesIn(deps, rootIds, which);
  const repliesById = new Map<string, DiscussionNoteRow[]>();
  for (const reply of replies) {
    const known = repliesById.get(reply.discussion_id);
    if (known === undefined) repliesById.set(reply.discussion_id, [reply]);
    else known.push(reply);
  }
  const people = [...rows, ...replies].map(({ author_id }) => author_id);
  const users = await findUsersById(deps.db, [...new Set(people)]);
  const isFollowed = deps.past !== true && roots.some(({ new_path }) => new_path !== null);
  const range = isFollowed
    ? await rangeOf(deps, request, mergeRequest).catch(() => undefined)
    : undefined;
  const now = deps.now();
  const plain = (row: DiscussionNoteRow) => ({
    ...textView(row, now),
    author: participantView(users.get(row.author_id), row.author_id),
  });
  const notes: Note[] = [];
  // One after the other: a line that is not where it was takes a comparison.
  for (const row of rows) {
    const isRoot = row.id === row.discussion_id;
    const own = isRoot ? (repliesById.get(row.id) ?? []) : [];
    notes.push({
      ...plain(row),
      repliesTotal: totals.get(row.id) ?? 0,
      ...(isRoot && (deps.past === true ? placeThen(row) : await placeView(row, range))),
      replies: own.map((reply) => ({ ...plain(reply), replies: [] })),
    });
  }
  return notes;
}

async function repliesIn(
  { db }: Deps,
  ids: readonly string[],
  which: WhichReplies,
): Promise<readonly DiscussionNoteRow[]> {
  if (which === "none") return [];
  if (which === "newest") return repliesTo(db, ids, { bytesMax: bytesMax.list });
  return repliesTo(db, ids, { from: which.from, bytesMax: bytesMax.discussion });
}

function textView(row: DiscussionNoteRow | ListedNoteRow, now: Date) {
  const isRoot = row.id === row.discussion_id;
  return {
    uuid: row.id,
    discussionUuid: isRoot ? null : row.discussion_id,
    mergeRequestUuid: isRoot ? row.merge_request_id : null,
    type: "MERGE_REQUEST_COMMENT" as const,
    message: row.message,
    rawMessage: row.message,
    truncated: "truncated" in row && row.truncated,
    repliesTotal: 0,
    createdAt: row.created_at,
    formatedDate: elapsedText(row.created_at, now),
    resolved: row.resolved ?? false,
    resolvable: null,
    baseCommit: row.base_commit,
    startCommit: row.start_commit,
    targetCommit: row.target_commit,
    newPath: row.new_path,
    oldPath: row.old_path,
    newLine: null,
    oldLine: null,
    initialNewLine: row.new_line,
    outdated: false,
  };
}

const placeThen = ({ new_line, old_line }: DiscussionNoteRow) => ({
  newLine: new_line,
  oldLine: old_line,
});

async function placeView(row: DiscussionNoteRow, range: Range | undefined) {
  const { new_path, old_path, target_commit, base_commit } = row;
  if (new_path === null || old_path === null) return {};
  if (range === undefined || target_commit === null) return { outdated: true };
  const { repository, targetHead, sourceCommit } = range;
  const { baseId } = await compareHeads(repository, targetHead, sourceCommit);
  const before = placeOf(old_path, row.old_line);
  const after = placeOf(new_path, row.new_line);
  const newPlace = await followed(repository, after, target_commit, sourceCommit);
  const oldPlace = await followed(repository, before, base_commit, baseId);
  const outdated =
    (after !== undefined && newPlace === undefined) ||
    (before !== undefined && oldPlace === undefined);
  return {
    newPath: newPlace?.path ?? new_path,
    oldPath: oldPlace?.path ?? old_path,
    newLine: newPlace?.line ?? null,
    oldLine: oldPlace?.line ?? null,
    outdated,
  };
}

const placeOf = (path: string, at: number | null): Place | undefined =>
  at === null ? undefined : { path, line: at };

async function followed(
  repository: Repository,
  place: Place | undefined,
  from: string | null,
  to: string | null,
): Promise<Place | undefined> {
  if (place === undefined || from === null || to === null) return undefined;
  return followLine(repository, place, from, to);
}
