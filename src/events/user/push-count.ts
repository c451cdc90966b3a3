import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, ObjectId, ProjectId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/**
 * A kind of file as it is counted: what follows the last dot of the name, in lower case, without the
 * dot; empty when there is nothing of that form.
 */
const FileExtension = z.string().regex(/^[a-z0-9+#~-]{0,20}$/);

/** What pushes to one repository brought, commit by commit, each commit once. */
export const pushCountEvents = {
  PushCounted: z.object({
    projectId: ProjectId,
    /** Who pushed; null when that is not known, and then nobody gets the credit. */
    userId: UserId.nullable(),
    /** Revision of the last event of the repository's stream that is accounted for with this one. */
    repositoryRevision: z.int().nonnegative(),
    commits: z.int().positive(),
    /** In how many of the commits a file of the kind was added or changed. */
    extensions: z.record(FileExtension, z.int().positive()),
    /** Commits whose whole history has been counted from here on. */
    tips: z.array(ObjectId),
    /** Former tips that the new ones contain. */
    replaces: z.array(ObjectId),
    countedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type PushCountEvent = EventOf<typeof pushCountEvents>;

/** One a repository: the id is the project's. */
export const pushCountStream = (projectId: string): string => streamName("pushCount", projectId);
