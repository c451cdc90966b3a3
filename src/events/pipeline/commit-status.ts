import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, ObjectId, ProjectId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";
import { PipelineStatus } from "./status.ts";

export const commitStatusEvents = {
  /** What a system outside says of a commit; the last one of a name counts. */
  CommitStatusReported: z.object({
    projectId: ProjectId,
    commitId: ObjectId,
    name: z.string().min(1),
    status: PipelineStatus,
    ref: z.string().nullable(),
    targetUrl: z.string().nullable(),
    description: z.string().nullable(),
    reportedById: UserId,
    reportedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type CommitStatusEvent = EventOf<typeof commitStatusEvents>;

/** @param id project and commit, with a tilde between them */
export const commitStatusStream = (id: string): string => streamName("commitStatus", id);

export const commitStatusId = (projectId: string, commitId: string): string =>
  `${projectId}~${commitId}`;
