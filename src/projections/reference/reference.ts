import type { ProjectId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { issueEvents } from "../../events/issue/issue.ts";
import { issueCommentEvents } from "../../events/issue/issue-comment.ts";
import { discussionEvents } from "../../events/merge-request/discussion.ts";
import { mergeRequestEvents } from "../../events/merge-request/merge-request.ts";
import { commitReferenceEvents } from "../../events/reference/commit-reference.ts";
import { clipText } from "../../platform/storable-text.ts";
import { referencesIn, type TextReference } from "../../platform/text-reference.ts";
import { ignore } from "../core/projection.ts";
import { purgeEvents, purgeRows } from "../core/purge.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { tableOf, type Writes } from "../core/writes.ts";

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

const key = ["source_id", "project_id", "source_part", "target"] as const;
const texts = tableOf<ReferenceRow>({ name: "text_reference", key, kept: ["created_at"] });
/** What a commit says never changes: only a row that is not there is written. */
const commitTexts = tableOf<ReferenceRow>({
  name: "text_reference",
  key,
  kept: ["source_kind", "parent_kind", "parent_id", "title", "closes", "created_at"],
});

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

export const referenceProjection = defineRowProjection({
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
    ProjectPurged: (rows, { data }) =>
      purgeRows(rows, data.projectId, { text_reference: "project_id" }),
    IssueCreated: (rows, { data }) => {
      const source = { kind: "ISSUE", id: data.issueId, projectId: data.projectId } as const;
      readText(rows, { ...source, part: "title" }, data.title, data.createdAt);
      readText(rows, { ...source, part: "description" }, data.description, data.createdAt);
    },
    IssueEdited: (rows, { stream, data: { projectId, details, editedAt } }) => {
      const source = { kind: "ISSUE", id: idInStream(stream), projectId } as const;
      for (const part of ["title", "description"] as const) {
        const text = details[part];
        if (text !== undefined) readText(rows, { ...source, part }, text, editedAt);
      }
    },
    IssueClosedByCommit: ignore,
    IssueClosingCommitFound: ignore,
    IssueDeleted: (rows, { stream }) => dropSource(rows, idInStream(stream)),
    IssueCommentCreated: (rows, { data }) =>
      readText(rows, noteOn(data.issueCommentId, data), data.message, data.createdAt),
    IssueCommentEdited: (rows, { stream, data }) =>
      readText(rows, noteOn(idInStream(stream), data), data.message, data.editedAt),
    IssueCommentDeleted: (rows, { stream }) => dropSource(rows, idInStream(stream)),
    MergeRequestOpened: (rows, { data }) => {
      const { mergeRequestId: id, projectId, details, openedAt } = data;
      readRequest(rows, { id, projectId }, details, openedAt);
    },
    MergeRequestEdited: (rows, { stream, data: { projectId, details, editedAt } }) =>
      readRequest(rows, { id: idInStream(stream), projectId }, details, editedAt),
    DiscussionStarted: (rows, { data }) =>
      readText(rows, noteOnRequest(data.discussionId, data), data.message, data.startedAt),
    DiscussionReplied: (rows, { data }) =>
      readText(rows, noteOnRequest(data.noteId, data), data.message, data.repliedAt),
    DiscussionNoteEdited: (rows, { data }) =>
      readText(rows, noteOnRequest(data.noteId, data), data.message, data.editedAt),
    DiscussionNoteDeleted: (rows, { data: { noteId, replyIds } }) => {
      for (const id of [noteId, ...replyIds]) dropSource(rows, id);
    },
    CommitReferencesFound: (rows, { data: { projectId, commits, foundAt } }) => {
      for (const { commitId: id, title, references } of commits) {
        const source = { kind: "COMMIT", id, projectId, part: "message", title } as const;
        // The same commit may come again with another branch: when it was first named stays.
        for (const row of rowsOf(source, references, foundAt)) rows.put(commitTexts, row);
      }
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

function readRequest(
  rows: Writes,
  of: Pick<ReferenceSource, "id" | "projectId">,
  texts: Readonly<{ title: string; description?: string | undefined }>,
  at: string,
): void {
  const source = { kind: "MERGE_REQUEST", ...of } as const;
  readText(rows, { ...source, part: "title" }, texts.title, at);
  const { description } = texts;
  if (description !== undefined)
    readText(rows, { ...source, part: "description" }, description, at);
}

/**
 * Replaces what one text of a thing was known to name by what it names now. What it goes on naming keeps the time
 * at which it first did.
 */
function readText(rows: Writes, source: ReferenceSource, text: string, at: string): void {
  const { id, part, projectId } = source;
  const named = rowsOf(source, referencesIn(text), at);
  const targets = named.map(({ target }) => target);
  rows.run((db) =>
    db.raw(
      `delete from text_reference where source_id = ? and source_part = ?
         and not (project_id = ? and target = any(?))`,
      [id, part, projectId, targets],
    ),
  );
  for (const row of named) rows.put(texts, row);
}

/** A thing is gone, with the notes on it. */
function dropSource(rows: Writes, id: string): void {
  rows.run((db) => db("text_reference").where({ source_id: id }).delete());
  rows.run((db) => db("text_reference").where({ parent_id: id }).delete());
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
