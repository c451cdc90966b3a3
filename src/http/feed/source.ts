import type { Knex } from "knex";
import type { Recorded } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import type { AuditEntryRow } from "../../projections/audit/entry.ts";
import { type AuditFilter, listAuditEntries } from "../../projections/audit/entry-query.ts";
import { readRecorded } from "../../projections/audit/read-events.ts";
import { type ServedEvent, serveEvent } from "./served-event.ts";

/** One event as the feed holds it. */
export type FeedItem = Readonly<{
  position: bigint;
  placeId: string | null;
  type: string;
  subjectId: string;
  /** Undefined: of a type that this version does not know. */
  served: ServedEvent | undefined;
  /** As server-sent event; empty when it is not served. */
  text: string;
}>;

type Deps = Readonly<{ db: Knex; store: EventStore }>;

export type FeedFilter = Pick<AuditFilter, "placeId" | "subjectId" | "types">;

/** What fits after a position, in the order of the log; at or before `upTo` when given. */
export async function itemsAfter(
  deps: Deps,
  filter: FeedFilter,
  range: Readonly<{ after: bigint; upTo?: bigint; limit: number }>,
): Promise<readonly FeedItem[]> {
  const rows = await listAuditEntries(deps.db, filter, {
    after: range.after,
    ...(range.upTo !== undefined && { before: range.upTo + 1n }),
    order: "oldest",
    limit: range.limit,
  });
  const events = await readRecorded(deps.store, rows);
  return rows.map((row) => itemOf(row, events.get(row.position)));
}

function itemOf(row: AuditEntryRow, event: Recorded | undefined): FeedItem {
  const served = event && serveEvent(event, row.place_id);
  return {
    position: row.position,
    placeId: row.place_id,
    type: row.type,
    subjectId: row.subject_id,
    served,
    text: served === undefined ? "" : sse(served),
  };
}

/** JSON has no line breaks of its own, so one `data` line holds it. */
const sse = (served: ServedEvent): string =>
  `id: ${served.position}\nevent: ${served.type}\ndata: ${JSON.stringify(served)}\n\n`;

/** Position of the newest event that the read models have; -1 before all of them. */
export async function newestPosition(db: Knex): Promise<bigint> {
  const row = await db("audit_entry").max<{ max: bigint | null }>("position").first();
  return row?.max ?? -1n;
}
