import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { ParentType } from "../core/role.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

export const ReportReason = z.enum(["SPAM", "ABUSE", "COPYRIGHT", "MALWARE", "OTHER"]);
export type ReportReason = z.output<typeof ReportReason>;

/** What users report to administrators about projects, teams and companies. */
export const reportEvents = {
  ReportFiled: z.object({
    reportId: z.uuid(),
    parentId: z.uuid(),
    parentType: ParentType,
    reporterId: UserId,
    reason: ReportReason,
    /** In the reporter's words, sealed under the reporter. */
    text: Sealed.nullable(),
    filedAt: IsoInstant,
  }),
  ReportClosed: z.object({ reportId: z.uuid(), closedById: UserId, closedAt: IsoInstant }),
} as const satisfies EventSchemas;

export type ReportEvent = EventOf<typeof reportEvents>;

/** One stream for a reporter and what is reported: there is one open report at most. */
export const reportStream = (pairId: string): string => streamName("report", pairId);
