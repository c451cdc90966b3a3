import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, ObjectId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

const BranchChange = z.object({
  /** What follows `refs/heads/`. */
  branch: z.string().min(1),
  /** Null when the change was found in the repository and nobody is known to have made it. */
  changedById: UserId.nullable(),
  changedAt: IsoInstant,
});

const TagChange = z.object({
  /** What follows `refs/tags/`. */
  tag: z.string().min(1),
  changedById: UserId.nullable(),
  changedAt: IsoInstant,
});

const TagTarget = z.object({
  /** Of the tag object, or of the commit itself when the tag is lightweight. */
  objectId: ObjectId,
  /** Null for a tag of a tree or a blob. */
  commitId: ObjectId.nullable(),
  lightWeight: z.boolean(),
});

/**
 * What happened to the branches and tags of one repository, one event a change, as git really made
 * them. Names and addresses of commit authors are in the commits, not here.
 */
export const repositoryEvents = {
  BranchCreated: BranchChange.extend({ commitId: ObjectId }),
  BranchUpdated: BranchChange.extend({
    before: ObjectId,
    after: ObjectId,
    /** `after` does not contain `before`. */
    forced: z.boolean(),
  }),
  /** `commitId` is where the branch stood. */
  BranchDeleted: BranchChange.extend({ commitId: ObjectId }),
  TagCreated: TagChange.extend(TagTarget.shape),
  TagUpdated: TagChange.extend({ before: ObjectId, ...TagTarget.shape }),
  TagDeleted: TagChange.extend({ objectId: ObjectId }),
  /** See git-notes(1). Null where there are, or shall be, no notes of this name. */
  NotesChanged: z.object({
    /** What follows `refs/notes/`. */
    notes: z.string().min(1),
    before: ObjectId.nullable(),
    after: ObjectId.nullable(),
    changedById: UserId.nullable(),
    changedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type RepositoryEvent = EventOf<typeof repositoryEvents>;

/** One repository a project: the id is the project's. */
export const repositoryStream = (projectId: string): string => streamName("repository", projectId);

export const branchPrefix = "refs/heads/";
export const tagPrefix = "refs/tags/";
export const notesPrefix = "refs/notes/";

/** Where an event leaves its ref: the full name, and the object id or null when it is gone. */
export function refAfter({ type, data }: RepositoryEvent): Readonly<{
  ref: string;
  objectId: string | null;
}> {
  switch (type) {
    case "BranchCreated":
      return { ref: branchPrefix + data.branch, objectId: data.commitId };
    case "BranchUpdated":
      return { ref: branchPrefix + data.branch, objectId: data.after };
    case "BranchDeleted":
      return { ref: branchPrefix + data.branch, objectId: null };
    case "TagCreated":
    case "TagUpdated":
      return { ref: tagPrefix + data.tag, objectId: data.objectId };
    case "TagDeleted":
      return { ref: tagPrefix + data.tag, objectId: null };
    case "NotesChanged":
      return { ref: notesPrefix + data.notes, objectId: data.after };
  }
}
