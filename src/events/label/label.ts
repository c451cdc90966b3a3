import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, ProjectId, UserId, Uuid } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

export const LabelId = Uuid.brand("LabelId");
export type LabelId = z.output<typeof LabelId>;

export const LabelDetails = z.object({
  title: z.string().min(1),
  description: z.string().nullable(),
  /** `#` and six lower case hex digits. */
  hexColor: z.string().regex(/^#[0-9a-f]{6}$/),
});
export type LabelDetails = Readonly<z.output<typeof LabelDetails>>;

/** What issues and merge requests of one project are sorted by. */
export const labelEvents = {
  LabelCreated: LabelDetails.extend({
    labelId: LabelId,
    projectId: ProjectId,
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  LabelEdited: z.object({
    details: LabelDetails,
    previousDetails: LabelDetails,
    editedById: UserId,
    editedAt: IsoInstant,
  }),
  LabelDeleted: z.object({ title: z.string(), deletedById: UserId, deletedAt: IsoInstant }),
} as const satisfies EventSchemas;

export const labelStream = (id: string): string => streamName("label", id);

/** A title has one label in a project; `digest` is that of the title, which may hold any character. */
export const labelTitleStream = (projectId: string, digest: string): string =>
  streamName("labelTitle", `${projectId}~${digest}`);

/** Titles are unique without regard to case. */
export const normaliseTitle = (title: string): string => title.normalize("NFC").toLowerCase();
