import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, ProjectId, UserId } from "../core/ids.ts";
import { StoredFile } from "../core/stored-file.ts";
import { streamName } from "../core/stream.ts";
import { JobId, PipelineId } from "../pipeline/id.ts";

const Artifact = z.object({ artifactId: z.uuid(), jobId: JobId, projectId: ProjectId });

export const artifactEvents = {
  /** It takes the place of an artifact of the same type of this job. */
  JobArtifactStored: Artifact.extend({
    pipelineId: PipelineId,
    /** `archive`, or the kind of a report. */
    fileType: z.string(),
    file: StoredFile,
    /** Null: it is kept until it is deleted with its pipeline. */
    expireAt: IsoInstant.nullable(),
    storedAt: IsoInstant,
  }),
  /** A locked artifact does not expire. */
  JobArtifactLocked: Artifact.extend({ lockedById: UserId, lockedAt: IsoInstant }),
  JobArtifactUnlocked: Artifact.extend({ unlockedById: UserId, unlockedAt: IsoInstant }),
  JobArtifactExpired: Artifact.extend({ expiredAt: IsoInstant }),
} as const satisfies EventSchemas;

/** All artifacts of one job. */
export const artifactStream = (jobId: string): string => streamName("jobArtifact", jobId);
