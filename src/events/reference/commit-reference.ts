import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, ObjectId, ProjectId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/** A commit whose message names something, as `referencesIn` reads it. */
export const ReferringCommit = z.object({
  commitId: ObjectId,
  /** First line of the message. */
  title: z.string(),
  references: z.array(z.object({ target: z.string(), closes: z.boolean() })).readonly(),
});
export type ReferringCommit = Readonly<z.output<typeof ReferringCommit>>;

/** Messages of commits are in the repository, not in the log: what they name is recorded after a push. */
export const commitReferenceEvents = {
  CommitReferencesFound: z.object({
    projectId: ProjectId,
    commits: z.array(ReferringCommit).readonly(),
    foundAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type CommitReferenceEvent = EventOf<typeof commitReferenceEvents>;

/** One for each change of a branch. */
export const commitReferenceStream = (id: string): string => streamName("commitReference", id);
