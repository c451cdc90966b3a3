import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/** What a team or company can have in it. */
export const HeldType = z.enum(["PROJECT", "TEAM"]);
export type HeldType = z.output<typeof HeldType>;

/** A team or company is emptied before it goes, so what comes in and its end are in one stream. */
export const holdingEvents = {
  /** Before the thing itself is there, or is its. */
  HoldingAdded: z.object({
    ownerId: z.uuid(),
    heldId: z.uuid(),
    heldType: HeldType,
    /** Of the command that then brings it in: an event of its own with this id records that it came. */
    byCommandId: z.uuid(),
    addedAt: IsoInstant,
  }),
  /** Nothing comes in any more: it is about to be deleted. */
  HoldingsClosed: z.object({ ownerId: z.uuid(), closedAt: IsoInstant }),
  /** It was not deleted after all. */
  HoldingsReopened: z.object({ ownerId: z.uuid(), reopenedAt: IsoInstant }),
} as const satisfies EventSchemas;

export type HoldingEvent = EventOf<typeof holdingEvents>;

/** Of one team or company. */
export const holdingStream = (ownerId: string): string => streamName("holding", ownerId);
