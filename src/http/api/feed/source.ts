import type { Knex } from "knex";
import type { Recorded } from "../../../events/core/event.ts";
import type { EventStore } from "../../../platform/event-store/event-store.ts";
import type { AuditEntryRow } from "../../../projections/audit/entry.ts";
import { type AuditFilter, listAuditEntries } from "../../../projections/audit/entry-query.ts";
import { readRecorded } from "../../../projections/audit/read-events.ts";
import { type ServedEvent, serveEvent, withoutTexts } from "./served-event.ts";

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
  /** The same without the texts that people wrote. */
  textForGuests: string;
}>;

type Deps = Readonly<{ db: Knex; store: EventStore }>;

export type FeedFilter = Pick<AuditFilter, "placeId" | "subjectId" | "types"> &
  Readonly<{ forGuests?: boolean }>;

/** What a reader with this filter gets of an event that fits. */
export const textFor = ({ textForGuests, text }: FeedItem, { forGuests }: FeedFilter): string =>
  forGuests === true ? textForGuests : text;

export type FeedPage = Readonly<{
  items: readonly FeedItem[];
  /** Whether fewer fit than `limit`, and all of them are here. */
  isWhole: boolean;
}>;

/** Events that are read at a time, so that few are held beyond what fits. */
const eventsAtOnce = 16;

/**
 * What fits after a position, in the order of the log; at or before `upTo` when given. It ends with the
 * event whose text brings all of them to `bytesMax`.
 */
export async function itemsAfter(
  deps: Deps,
  filter: FeedFilter,
  range: Readonly<{ after: bigint; upTo?: bigint; limit: number; bytesMax: number }>,
): Promise<FeedPage> {
  const rows = await listAuditEntries(deps.db, filter, {
    after: range.after,
    ...(range.upTo !== undefined && { before: range.upTo + 1n }),
    order: "oldest",
    limit: range.limit,
  });
  const items: FeedItem[] = [];
  let bytes = 0;
  for (let begin = 0; begin < rows.length; begin += eventsAtOnce) {
    const step = rows.slice(begin, begin + eventsAtOnce);
    const events = await readRecorded(deps.store, step);
    for (const row of step) {
      const item = itemOf(row, events.get(row.position));
      items.push(item);
      bytes += Buffer.byteLength(item.text);
      if (bytes >= range.bytesMax) return { items, isWhole: false };
    }
  }
  return { items, isWhole: rows.length < range.limit };
}

function itemOf(row: AuditEntryRow, event: Recorded | undefined): FeedItem {
  const served = event && serveEvent(event, row.place_id);
  const text = served === undefined ? "" : sse(served);
  const short = served && withoutTexts(served);
  return {
    position: row.position,
    placeId: row.place_id,
    type: row.type,
    subjectId: row.subject_id,
    served,
    text,
    // Most have none: the reader's texts are then one.
    textForGuests: short === undefined || short === served ? text : sse(short),
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
