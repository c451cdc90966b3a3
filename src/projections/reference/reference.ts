import type { ProjectId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { issueEvents } from "../../events/issue/issue.ts";
import { issueCommentEvents } from "../../events/issue/issue-comment.ts";
import { discussionEvents } from "../../events/merge-request/discussion.ts";
import { mergeRequestEvents } from "../../events/merge-request/merge-request.ts";
import { commitReferenceEvents } from "../../events/reference/commit-reference.ts";
import { clipText } from "../../platform/storable-text.ts";
import {
  referencesIn,
  referencesInMarkdown,
  type TextReference,
} from "../../platform/text-reference.ts";
import { type Change, put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel, nothing } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

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

/** Longest title of a commit that is kept. */
const titleMax = 255;

const texts = defineTable({
  name: "text_reference",
  columns: {
    source_kind: column<ReferenceKind>("text"),
    source_id: "text",
    source_part: column<ReferenceSource["part"]>("text"),
    project_id: column<ProjectId>("uuid"),
    parent_kind: column<"ISSUE" | "MERGE_REQUEST" | null>("text null"),
    parent_id: "text null",
    title: "text null",
    /** See targetKey. */
    target: "text",
    closes: "boolean",
    created_at: "timestamptz",
  },
  // A commit may be in several projects, as a fork begins with those of its origin.
  key: ["source_id", "project_id", "source_part", "target"],
  writtenOnce: ["created_at"],
  indexes: ["(project_id)", "(parent_id)"],
  lateIndexes: ["(target, created_at, source_id)"],
});

export type ReferenceRow = RowOf<typeof texts>;

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

export const referenceProjection = defineReadModel({
  name: "reference",
  version: 5,
  tables: [texts],
  events: {
    ...issueEvents,
    ...issueCommentEvents,
    ...commitReferenceEvents,
    ...requestTexts,
    ...noteTexts,
    ...purgeEvents,
  },
  effects: {
    IssueCreated: ({ data }) =>
      textsOf({ kind: "ISSUE", id: data.issueId, projectId: data.projectId }, data, data.createdAt),
    IssueEdited: ({ stream, data: { projectId, details, previousDetails, editedAt } }) => {
      const source = { kind: "ISSUE", id: idInStream(stream), projectId } as const;
      return textsOf(source, details, editedAt, previousDetails);
    },
    IssueClosedByCommit: nothing,
    IssueClosingCommitFound: nothing,
    IssueDeleted: ({ stream }) => [
      dropped(idInStream(stream)),
      // With the notes on it.
      remove(texts, { parent_id: idInStream(stream) }),
    ],
    IssueCommentCreated: ({ data }) =>
      textOf(noteOn(data.issueCommentId, data), data.message, data.createdAt),
    IssueCommentEdited: ({ stream, data: { message, previousMessage, editedAt, ...on } }) =>
      textOf(noteOn(idInStream(stream), on), message, editedAt, previousMessage),
    IssueCommentDeleted: ({ stream }) => dropped(idInStream(stream)),
    MergeRequestOpened: ({ data: { mergeRequestId: id, projectId, details, openedAt } }) =>
      textsOf({ kind: "MERGE_REQUEST", id, projectId }, details, openedAt),
    MergeRequestEdited: ({ stream, data: { projectId, details, previousDetails, editedAt } }) => {
      const source = { kind: "MERGE_REQUEST", id: idInStream(stream), projectId } as const;
      return textsOf(source, details, editedAt, previousDetails);
    },
    DiscussionStarted: ({ data }) =>
      textOf(noteOnRequest(data.discussionId, data), data.message, data.startedAt),
    DiscussionReplied: ({ data }) =>
      textOf(noteOnRequest(data.noteId, data), data.message, data.repliedAt),
    DiscussionNoteEdited: ({ data: { message, previousMessage, editedAt, ...on } }) =>
      textOf(noteOnRequest(on.noteId, on), message, editedAt, previousMessage),
    DiscussionNoteDeleted: ({ data: { noteId, replyIds } }) => [noteId, ...replyIds].map(dropped),
    CommitReferencesFound: ({ data: { projectId, commits, foundAt } }) =>
      commits.flatMap(({ commitId: id, title, references }) => {
        const source = { kind: "COMMIT", id, projectId, part: "message", title } as const;
        return rowsOf(source, references, foundAt).map((row) => put(texts, row));
      }),
    ProjectPurged: purgedFrom(texts),
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

/** Of those of the two texts that an event has. */
const textsOf = (
  source: Omit<ReferenceSource, "part">,
  now: Texts,
  at: string,
  previous: Texts = {},
): readonly Change[] =>
  (["title", "description"] as const).flatMap((part) => {
    const text = now[part];
    return text === undefined ? [] : textOf({ ...source, part }, text, at, previous[part]);
  });

type Texts = Readonly<{ title?: string | undefined; description?: string | undefined }>;

/**
 * What a text of a thing named before and does not name any more is removed. What it goes on naming keeps the time at
 * which it first did.
 */
function textOf(
  source: ReferenceSource,
  text: string,
  at: string,
  previous = "",
): readonly Change[] {
  // Pages show a title as it is.
  const search = source.part === "title" ? referencesIn : referencesInMarkdown;
  const rows = rowsOf(source, search(text), at);
  const named = new Set(rows.map(({ target }) => target));
  const former = rowsOf(source, search(previous), at).filter(({ target }) => !named.has(target));
  return [
    ...former.map(({ source_id, project_id, source_part, target }) =>
      remove(texts, { source_id, project_id, source_part, target }),
    ),
    ...rows.map((row) => put(texts, row)),
  ];
}

const dropped = (source_id: string): Change => remove(texts, { source_id });

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
