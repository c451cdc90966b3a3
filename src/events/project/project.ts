import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { Alias, IsoInstant, ProjectId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

export const OwnerType = z.enum(["USER", "TEAM", "COMPANY"]);
export type OwnerType = z.output<typeof OwnerType>;

/** What its administrators may change at will. */
export const ProjectDetails = z.object({
  title: z.string(),
  description: z.string().nullable(),
  language: z.string().nullable(),
  topics: z.array(z.string()),
  siteUrl: z.string().nullable(),
});
export type ProjectDetails = Readonly<z.output<typeof ProjectDetails>>;

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
    /** The project whose repository it began as a copy of. */
    forkedFromId: ProjectId.optional(),
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  ProjectDefaultBranchChanged: z.object({
    branch: z.string(),
    previousBranch: z.string(),
    changedAt: IsoInstant,
  }),
  ProjectDetailsChanged: z.object({
    details: ProjectDetails,
    previous: ProjectDetails,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  ProjectVisibilityChanged: z.object({
    private: z.boolean(),
    previous: z.boolean(),
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  ProjectAliasChanged: z.object({
    alias: Alias,
    previousAlias: Alias,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  ProjectTransferred: z.object({
    ownerId: z.uuid(),
    ownerType: OwnerType,
    previousOwnerId: z.uuid(),
    previousOwnerType: OwnerType,
    transferredById: UserId,
    transferredAt: IsoInstant,
  }),
  /** Everything stays where it is, unseen, and can be restored for a time. */
  ProjectDeleted: z.object({ deletedById: UserId, deletedAt: IsoInstant }),
  ProjectRestored: z.object({ restoredById: UserId, restoredAt: IsoInstant }),
  /** The time for restoring is over: repository and secrets go, what happened stays in the log. */
  ProjectPurged: z.object({ projectId: ProjectId, purgedAt: IsoInstant }),
  /** How large its repository may be; null: as large as any project of the instance. */
  ProjectQuotaChanged: z.object({
    allowedBytes: z.int().nonnegative().nullable(),
    previous: z.int().nonnegative().nullable(),
    changedById: UserId,
    changedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type ProjectEvent = EventOf<typeof projectEvents>;

export const projectStream = (id: string): string => streamName("project", id);

/** Names the vault key under which a project's secrets are sealed. */
export const projectSubject = (id: string): string => `project-${id}`;
