import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { Alias, IsoInstant, TeamId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

export const TeamOwnerType = z.enum(["USER", "COMPANY"]);
export type TeamOwnerType = z.output<typeof TeamOwnerType>;

/** What its administrators may change at will. */
export const TeamDetails = z.object({
  title: z.string(),
  description: z.string().nullable(),
  private: z.boolean(),
  avatar: z.string().nullable(),
});
export type TeamDetails = Readonly<z.output<typeof TeamDetails>>;

export const teamEvents = {
  TeamCreated: z.object({
    teamId: TeamId,
    ownerId: z.uuid(),
    ownerType: TeamOwnerType,
    alias: Alias,
    details: TeamDetails,
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  TeamDetailsChanged: z.object({
    details: TeamDetails,
    previous: TeamDetails,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  TeamAliasChanged: z.object({
    alias: Alias,
    previousAlias: Alias,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  TeamTransferred: z.object({
    ownerId: z.uuid(),
    ownerType: TeamOwnerType,
    previousOwnerId: z.uuid(),
    previousOwnerType: TeamOwnerType,
    transferredById: UserId,
    transferredAt: IsoInstant,
  }),
  TeamDeleted: z.object({ deletedById: UserId, deletedAt: IsoInstant }),
} as const satisfies EventSchemas;

export type TeamEvent = EventOf<typeof teamEvents>;

export const teamStream = (id: string): string => streamName("team", id);
