import { z } from "zod";

import type { EventOf, EventSchemas } from "./event.ts";
import { IsoInstant, ProjectId } from "./ids.ts";
import { streamName } from "./stream.ts";

/** What is numbered in each project; every kind has a sequence of its own. */
export const LocalIdKind = z.enum(["ISSUE", "MERGE_REQUEST", "PIPELINE", "JOB"]);
export type LocalIdKind = z.output<typeof LocalIdKind>;

/** Number within a project and kind, from 1, without gaps. */
export const LocalId = z.int().positive().brand("LocalId");
export type LocalId = z.output<typeof LocalId>;

export const localIdEvents = {
  /** The subject exists already: it is created first and numbered next. */
  LocalIdAssigned: z.object({
    kind: LocalIdKind,
    projectId: ProjectId,
    localId: LocalId,
    subjectId: z.uuid(),
    assignedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type LocalIdEvent = EventOf<typeof localIdEvents>;

const categories: Readonly<Record<LocalIdKind, string>> = {
  ISSUE: "issueNumber",
  MERGE_REQUEST: "mergeRequestNumber",
  PIPELINE: "pipelineNumber",
  JOB: "jobNumber",
};

/** All numbers of one kind in one project, in order: the last event holds the highest. */
export const localIdStream = (kind: LocalIdKind, projectId: string): string =>
  streamName(categories[kind], projectId);
