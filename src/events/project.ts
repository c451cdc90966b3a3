import { z } from "zod";

import type { EventOf, EventSchemas } from "./event.ts";
import { Alias, IsoInstant, ProjectId, UserId } from "./ids.ts";
import { streamName } from "./stream.ts";

export const OwnerType = z.enum(["USER", "TEAM", "COMPANY"]);
export type OwnerType = z.output<typeof OwnerType>;

export const projectEvents = {
  ProjectCreated: z.object({
    projectId: ProjectId,
    ownerId: z.uuid(),
    ownerType: OwnerType,
    alias: Alias,
    title: z.string(),
    description: z.string().nullable(),
    language: z.string().nullable(),
    private: z.boolean(),
    defaultBranch: z.string(),
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  ProjectDefaultBranchChanged: z.object({
    branch: z.string(),
    previousBranch: z.string(),
    changedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type ProjectEvent = EventOf<typeof projectEvents>;

export const projectStream = (id: string): string => streamName("project", id);

/** Names the vault key under which a project's secrets are sealed. */
export const projectSubject = (id: string): string => `project-${id}`;
