import type { ProjectId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { issueEvents } from "../../events/issue/issue.ts";
import { issueCommentEvents } from "../../events/issue/issue-comment.ts";
import { discussionEvents } from "../../events/merge-request/discussion.ts";
import { mergeRequestEvents } from "../../events/merge-request/merge-request.ts";
import { commitReferenceEvents } from "../../events/reference/commit-reference.ts";
import { clipText } from "../../platform/storable-text.ts";
import { referencesIn, type TextReference } from "../../platform/text-reference.ts";
import { defineProjection, ignore, type Tx } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";

export type ReferenceKind = "COMMIT" | "ISSUE" | "MERGE_REQUEST" | "NOTE";

/** A text that names something; several texts of one thing are its parts. */
export type ReferenceSource = Readonly<{
  kind: ReferenceKind;
  /** UUID, or the hash of a commit. */
  id: string;
  projectId: ProjectId;
  part: "title" | "description" | "message";
  /** Of a note: what it is written on. */
  parent?: Readonly<{ kind: "ISSUE" | "MERGE_REQUEST"; id: string }>;
  /** Of a commit, which no other table describes. */
  title?: string;
}>;

export type ReferenceRow = Readonly<{
  source_kind: ReferenceKind;
  source_id: string;
  source_part: ReferenceSource["part"];
  project_id: ProjectId;
  parent_kind: "ISSUE" | "MERGE_REQUEST" | null;
  parent_id: string | null;
  title: string | null;
  /** See targetKey. */
  target: string;
  closes: boolean;
  created_at: Date;
}>;

/** Longest title of a commit that is kept. */
const titleMax = 255;

/** Those that say a text. */
const requestTexts = {
  MergeRequestOpened: mergeRequestEvents.MergeRequestOpened,
  MergeRequestEdited: mergeRequestEvents.MergeRequestEdited,
} as const;
const noteTexts = {
  DiscussionStarted: discussionEvents.DiscussionStarted,
  DiscussionReplied: discussionEvents.DiscussionReplied,
  DiscussionNoteEdited: discussionEvents.DiscussionNoteEdited,
  DiscussionNoteDeleted: discussionEvents.DiscussionNoteDeleted,
} as const;

export const referenceProjection = defineProjection({
  name: "reference",
  version: 3,
  tables: ["text_reference"],
  async create(tx) {
    await tx.schema.createTable("text_reference", (table) => {
      table.text("source_kind").notNullable();
      table.text("source_id").notNullable();
      table.text("source_part").notNullable();
      table.uuid("project_id").notNullable().index();
      table.text("parent_kind");
      table.text("parent_id").index();
      table.text("title");
      table.text("target").notNullable();
      table.boolean("closes").notNullable();
      table.timestamp("created_at").notNullable();
      // A commit may be in several projects, as a fork begins with those of its origin.
      table.primary(["source_id", "project_id", "source_part", "target"]);
      table.index(["target", "created_at", "source_id"]);
    });
  },
  events: {
    ...issueEvents,
    ...issueCommentEvents,
    ...commitReferenceEvents,
    ...requestTexts,
    ...noteTexts,
    ...purgeEvents,
  },
  handlers: {
    ProjectPurged: (tx, { data }) => dropRows(tx, data.projectId, { text_reference: "project_id" }),
    IssueCreated: async (tx, { data }) => {
      const source = { kind: "ISSUE", id: data.issueId, projectId: data.projectId } as const;
      await readText(tx, { ...source, part: "title" }, data.title, data.createdAt);
      await readText(tx, { ...source, part: "description" }, data.description, data.createdAt);
    },
    IssueEdited: async (tx, { stream, data: { projectId, details, editedAt } }) => {
      const source = { kind: "ISSUE", id: idInStream(stream), projectId } as const;
      for (const part of ["title", "description"] as const) {
        const text = details[part];
        if (text !== undefined) await readText(tx, { ...source, part }, text, editedAt);
      }
    },
    IssueClosedByCommit: ignore,
    IssueClosingCommitFound: ignore,
    IssueDeleted: (tx, { stream }) => dropSource(tx, idInStream(stream)),
    IssueCommentCreated: (tx, { data }) =>
      readText(tx, noteOn(data.issueCommentId, data), data.message, data.createdAt),
    IssueCommentEdited: (tx, { stream, data }) =>
      readText(tx, noteOn(idInStream(stream), data), data.message, data.editedAt),
    IssueCommentDeleted: (tx, { stream }) => dropSource(tx, idInStream(stream)),
    MergeRequestOpened: async (tx, { data }) => {
      const { mergeRequestId: id, projectId, details, openedAt } = data;
      await readRequest(tx, { id, projectId }, details, openedAt);
    },
    MergeRequestEdited: (tx, { stream, data: { projectId, details, editedAt } }) =>
      readRequest(tx, { id: idInStream(stream), projectId }, details, editedAt),
    DiscussionStarted: (tx, { data }) =>
      readText(tx, noteOnRequest(data.discussionId, data), data.message, data.startedAt),
    DiscussionReplied: (tx, { data }) =>
      readText(tx, noteOnRequest(data.noteId, data), data.message, data.repliedAt),
    DiscussionNoteEdited: (tx, { data }) =>
      readText(tx, noteOnRequest(data.noteId, data), data.message, data.editedAt),
    DiscussionNoteDeleted: async (tx, { data: { noteId, replyIds } }) => {
      for (const id of [noteId, ...replyIds]) await dropSource(tx, id);
    },
    CommitReferencesFound: async (tx, { data: { projectId, commits, foundAt } }) => {
      const rows = commits.flatMap(({ commitId: id, title, references }) =>
        rowsOf({ kind: "COMMIT", id, projectId, part: "message", title }, references, foundAt),
      );
      await insert(tx, rows);
    },
  },
});

type OnIssue = Readonly<{ issueId: string; projectId: ProjectId }>;

const noteOn = (id: string, { issueId, projectId }: OnIssue): ReferenceSource => ({
  kind: "NOTE",
  id,
  projectId,
  part: "message",
  parent: { kind: "ISSUE", id: issueId },
});

type OnRequest = Readonly<{ mergeRequestId: string; projectId: ProjectId }>;

const noteOnRequest = (id: string, { mergeRequestId, projectId }: OnRequest): ReferenceSource => ({
  kind: "NOTE",
  id,
  projectId,
  part: "message",
  parent: { kind: "MERGE_REQUEST", id: mergeRequestId },
});

async function readRequest(
  tx: Tx,
  of: Pick<ReferenceSource, "id" | "projectId">,
  texts: Readonly<{ title: string; description?: string | undefined }>,
  at: string,
): Promise<void> {
  const source = { kind: "MERGE_REQUEST", ...of } as const;
  await readText(tx, { ...source, part: "title" }, texts.title, at);
  const { description } = texts;
  if (description === undefined) return;
  await readText(tx, { ...source, part: "description" }, description, at);
}

/**
 * Replaces what one text of a thing was known to name by what it names now. What it goes on naming keeps the time
 * at which it first did.
 */
export async function readText(
  tx: Tx,
  source: ReferenceSource,
  text: string,
  at: string,
): Promise<void> {
  const { id, part } = source;
  const before = await tx<ReferenceRow>("text_reference")
    .where({ source_id: id, source_part: part })
    .delete()
    .returning(["target", "created_at"]);
  const since = new Map(before.map(({ target, created_at }) => [target, created_at]));
  const rows = rowsOf(source, referencesIn(text), at);
  await insert(
    tx,
    rows.map((row) => ({ ...row, created_at: since.get(row.target) ?? row.created_at })),
  );
}

/** A thing is gone, with the notes on it. */
export async function dropSource(tx: Tx, id: string): Promise<void> {
  await tx<ReferenceRow>("text_reference").where({ source_id: id }).delete();
  await tx<ReferenceRow>("text_reference").where({ parent_id: id }).delete();
}

/**
 * The value of the column `target` that names a thing: `<project id>#12`, `owner/project#12` in lower case
 * where a text names the project, or a commit hash.
 */
export function targetKey(target: string, projectId: string): string {
  return /^[#!]/.test(target) ? `${projectId}${target}` : target.toLowerCase();
}

function rowsOf(
  source: ReferenceSource,
  references: readonly TextReference[],
  at: string,
): readonly ReferenceRow[] {
  const { kind, id, projectId, part, parent, title } = source;
  const targets = new Map<string, boolean>();
  for (const { target, closes } of references) {
    const key = targetKey(target, projectId);
    targets.set(key, closes || (targets.get(key) ?? false));
  }
  return [...targets].map(([target, closes]) => ({
    source_kind: kind,
    source_id: id,
    source_part: part,
    project_id: projectId,
    parent_kind: parent?.kind ?? null,
    parent_id: parent?.id ?? null,
    title: title === undefined ? null : clipText(title, titleMax),
    target,
    closes,
    created_at: new Date(at),
  }));
}

async function insert(tx: Tx, rows: readonly ReferenceRow[]): Promise<void> {
  if (rows.length === 0) return;
  // The same commit may come again with another branch: when it was first named stays.
  await tx<ReferenceRow>("text_reference")
    .insert([...rows])
    .onConflict(["source_id", "project_id", "source_part", "target"])
    .ignore();
}
