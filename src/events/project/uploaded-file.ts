import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, ProjectId, UserId, Uuid } from "../core/ids.ts";
import { StoredFile } from "../core/stored-file.ts";
import { streamName } from "../core/stream.ts";

export const UploadedFileId = Uuid.brand("UploadedFileId");
export type UploadedFileId = z.output<typeof UploadedFileId>;

/** A file that texts in a project link to. */
export const uploadedFileEvents = {
  FileUploaded: StoredFile.extend({
    uploadedFileId: UploadedFileId,
    projectId: ProjectId,
    uploadedById: UserId,
    uploadedAt: IsoInstant,
    /** True: who uploaded it was no member of the project, and it counts for their quota. */
    isByOutsider: z.literal(true).optional(),
  }),
  UploadedFileDeleted: z.object({
    projectId: ProjectId,
    deletedById: UserId,
    deletedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type UploadedFileEvent = EventOf<typeof uploadedFileEvents>;

export const uploadedFileStream = (id: string): string => streamName("uploadedFile", id);
