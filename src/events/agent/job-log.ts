import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, ProjectId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";
import { JobId, PipelineId } from "../pipeline/id.ts";

export const jobLogEvents = {
  /** The log of a run that has ended, as readers see it: masked, and cut at the limit. */
  JobLogStored: z.object({
    jobId: JobId,
    pipelineId: PipelineId,
    projectId: ProjectId,
    attempt: z.int().positive(),
    bytes: z.int().positive(),
    /** Hex; the blob is stored under it. */
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    storedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type JobLogEvent = EventOf<typeof jobLogEvents>;

/** The logs of all runs of one job. */
export const jobLogStream = (jobId: string): string => streamName("jobLog", jobId);
