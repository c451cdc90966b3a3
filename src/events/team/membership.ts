import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { ParentType, Role } from "../core/role.ts";
import { streamName } from "../core/stream.ts";

/** The stream names the parent by id; what kind it is stands in every event, for those who listen. */
export const membershipEvents = {
  MemberAdded: z.object({
    parentId: z.uuid(),
    parentType: ParentType,
    userId: UserId,
    role: Role,
    addedById: UserId,
    addedAt: IsoInstant,
  }),
  MemberRoleChanged: z.object({
    parentId: z.uuid(),
    parentType: ParentType,
    userId: UserId,
    role: Role,
    previousRole: Role,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  MemberRemoved: z.object({
    parentId: z.uuid(),
    parentType: ParentType,
    userId: UserId,
    role: Role,
    removedById: UserId,
    removedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type MembershipEvent = EventOf<typeof membershipEvents>;

/** All members of one company, team or project. */
export const membershipStream = (parentId: string): string => streamName("membership", parentId);
