import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, ObjectId, ProjectId, ReleaseFileId, ReleaseId, UserId } from "../core/ids.ts";
import { StoredFile } from "../core/stored-file.ts";
import { streamName } from "../core/stream.ts";

/** What may be edited at will. */
export const ReleaseDetails = z.object({
  title: z.string(),
  description: z.string().nullable(),
  /** What follows `refs/tags/`. */
  tagName: z.string().min(1),
  preRelease: z.boolean(),
});
export type ReleaseDetails = Readonly<z.output<typeof ReleaseDetails>>;

export const ReleaseFile = StoredFile.extend({ fileId: ReleaseFileId });
export type ReleaseFile = Readonly<z.output<typeof ReleaseFile>>;

export const releaseEvents = {
  ReleaseCreated: ReleaseDetails.extend({
    releaseId: ReleaseId,
    projectId: ProjectId,
    /** Where the tag stood. */
    commitId: ObjectId.nullable(),
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  ReleaseEdited: z.object({
    details: ReleaseDetails,
    previousDetails: ReleaseDetails,
    /** Where the tag stood. */
    commitId: ObjectId.nullable(),
    editedById: UserId,
    editedAt: IsoInstant,
  }),
  ReleaseFileAdded: ReleaseFile.extend({ addedById: UserId, addedAt: IsoInstant }),
  ReleaseFileRemoved: z.object({
    fileId: ReleaseFileId,
    name: z.string(),
    removedById: UserId,
    removedAt: IsoInstant,
  }),
  /** With all of its files. */
  ReleaseDeleted: z.object({ tagName: z.string(), deletedById: UserId, deletedAt: IsoInstant }),
} as const satisfies EventSchemas;

export type ReleaseEvent = EventOf<typeof releaseEvents>;

export const releaseStream = (id: string): string => streamName("release", id);
