import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import {
  DiscussionId,
  IsoInstant,
  MergeRequestId,
  ObjectId,
  ProjectId,
  UserId,
} from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/** A place in the changes of a request; a side that has no such line has none. */
export const DiscussionLine = z.object({
  newPath: z.string(),
  oldPath: z.string(),
  newLine: z.int().positive().nullable(),
  oldLine: z.int().positive().nullable(),
});
export type DiscussionLine = Readonly<z.output<typeof DiscussionLine>>;

/** What the request compared when the discussion began. */
export const DiscussionCommits = z.object({
  /** Common ancestor; null when there was none. */
  baseCommit: ObjectId.nullable(),
  /** Head of the target branch. */
  startCommit: ObjectId,
  /** Head of the source branch. */
  targetCommit: ObjectId,
});
export type DiscussionCommits = Readonly<z.output<typeof DiscussionCommits>>;

const note = { noteId: z.uuid(), mergeRequestId: MergeRequestId, projectId: ProjectId };

export const discussionEvents = {
  /** Its first note has the id of the discussion. */
  DiscussionStarted: z.object({
    discussionId: DiscussionId,
    mergeRequestId: MergeRequestId,
    projectId: ProjectId,
    message: z.string(),
    /** Null: about the request as a whole. */
    line: DiscussionLine.nullable(),
    commits: DiscussionCommits,
    startedById: UserId,
    startedAt: IsoInstant,
  }),
  DiscussionReplied: z.object({
    ...note,
    message: z.string(),
    repliedById: UserId,
    repliedAt: IsoInstant,
  }),
  DiscussionNoteEdited: z.object({
    ...note,
    message: z.string(),
    previousMessage: z.string(),
    editedById: UserId,
    editedAt: IsoInstant,
  }),
  /** With all replies, when it is the first note. */
  DiscussionNoteDeleted: z.object({
    ...note,
    replyIds: z.array(z.uuid()),
    message: z.string(),
    deletedById: UserId,
    deletedAt: IsoInstant,
  }),
  DiscussionResolved: z.object({ resolvedById: UserId, resolvedAt: IsoInstant }),
  DiscussionUnresolved: z.object({ unresolvedById: UserId, unresolvedAt: IsoInstant }),
} as const satisfies EventSchemas;

export type DiscussionEvent = EventOf<typeof discussionEvents>;

export const discussionStream = (id: string): string => streamName("discussion", id);
