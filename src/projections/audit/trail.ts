import type { Knex } from "knex";
import type { Actor } from "../../events/core/event.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { findUsersById, type UserRow } from "../user/user.ts";
import { type Change, changesOf, marks } from "./change.ts";
import type { AuditEntryRow } from "./entry.ts";
import { type AuditFilter, listAuditEntries, tokenNames } from "./entry-query.ts";
import { type ReadEntry, readEntries } from "./read-events.ts";
import { kindOf, sharesStream, titleIn } from "./subject.ts";

export type AuditLine = Readonly<{
  position: bigint;
  eventId: string;
  type: string;
  occurredAt: Date;
  actor: Actor;
  /** Of the token it was done with, or of the OAuth application; null without one. */
  tokenName: string | null;
  /** Null for work of the system and once the person was forgotten. */
  ip: string | null;
  stream: string;
  /** Id of the project, team, company or account it belongs to. */
  placeId: string | null;
  subject: Readonly<{ kind: string; id: string; title: string | null }>;
  changes: readonly Change[];
  correlationId: string;
  causationId: string | null;
}>;

export type AuditDeps = Readonly<{
  db: Knex;
  store: EventStore;
  open: (sealed: Sealed) => Promise<string | null>;
  /** Whose addresses are shown, of these users; of all when not given. */
  addressesOf?: (userIds: readonly string[]) => Promise<ReadonlySet<string>>;
}>;

export type AuditPageRequest = Readonly<{
  /** Positions, both excluded. With `after` alone the page begins there, else it ends at the newest. */
  after?: bigint;
  before?: bigint;
  size: number;
}>;

export type AuditPage = Readonly<{
  /** Newest first. */
  lines: readonly AuditLine[];
  /** Whether there are older ones than these that match the filter. */
  hasOlder: boolean;
  hasNewer: boolean;
}>;

/**
 * One page of who did what, when, from where, and what it changed. Pages are cut by position, so they
 * stay the same while events arrive.
 */
export async function auditPage(
  deps: AuditDeps,
  filter: AuditFilter,
  { after, before, size }: AuditPageRequest,
): Promise<AuditPage> {
  const upwards = after !== undefined && before === undefined;
  const rows = await listAuditEntries(deps.db, filter, {
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
    order: upwards ? "oldest" : "newest",
    limit: size + 1,
  });
  const page = rows.slice(0, size);
  const hasMore = rows.length > size;
  const lines = await toLines(deps, upwards ? page.reverse() : page);
  // A caller that names a position has seen the entry there.
  return upwards
    ? { lines, hasOlder: true, hasNewer: hasMore }
    : { lines, hasOlder: hasMore || after !== undefined, hasNewer: before !== undefined };
}

const pageEntriesMax = 200;

export type AuditTrailRange = Readonly<{
  after?: bigint;
  before?: bigint;
  /** Oldest first when not given. */
  order?: "newest" | "oldest";
  /** Runs before each page of entries is read. */
  beforePage?: () => Promise<void>;
}>;

/** Everything that fits, a page in memory at a time. */
export async function* auditTrail(
  deps: AuditDeps,
  filter: AuditFilter,
  { after, before, order = "oldest", beforePage }: AuditTrailRange = {},
): AsyncGenerator<AuditLine> {
  let range = { ...(after !== undefined && { after }), ...(before !== undefined && { before }) };
  for (;;) {
    await beforePage?.();
    const query = { ...range, order, limit: pageEntriesMax };
    const rows = await listAuditEntries(deps.db, filter, query);
    yield* await toLines(deps, rows);
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageEntriesMax) return;
    range = { ...range, [order === "oldest" ? "after" : "before"]: last.position };
  }
}

/** The entry of events that were just appended or looked up, in their order. */
export async function toLines(
  deps: AuditDeps,
  rows: readonly AuditEntryRow[],
): Promise<readonly AuditLine[]> {
  if (rows.length === 0) return [];
  const { db, store, open, addressesOf } = deps;
  const ids = (of: (row: AuditEntryRow) => string | null): string[] => [
    ...new Set(rows.map(of).filter((id) => id !== null)),
  ];
  const members = ids(({ type, subject_id }) => (kindOf(type) === "MEMBER" ? subject_id : null));
  const [entries, names, users, shown] = await Promise.all([
    readEntries(store, rows),
    tokenNames(
      db,
      ids(({ token_id }) => token_id),
    ),
    members.length === 0 ? new Map<string, UserRow>() : findUsersById(db, members),
    addressesOf?.(ids(({ actor_id }) => actor_id)),
  ]);
  const addressOf = async ({ ip, actor_id }: AuditEntryRow): Promise<string | null> => {
    if (ip === null) return null;
    const address = await open(ip);
    const isShown = shown === undefined || (actor_id !== null && shown.has(actor_id));
    return address === null || isShown ? address : marks.personal;
  };
  return Promise.all(
    rows.map(async (row) => {
      const entry = entries.get(row.position);
      if (entry === undefined) throw new Error(`Event ${row.position} is in the log`);
      const { id, title } = { id: row.subject_id, title: titleOf(entry) };
      return {
        ...lineOf(row, entry),
        tokenName: names.get(row.token_id ?? "") ?? null,
        ip: await addressOf(row),
        subject: { kind: kindOf(row.type), id, title: users.get(id)?.alias ?? title },
      };
    }),
  );
}

function titleOf({ event, first }: ReadEntry): string | null {
  return titleIn(event.data) ?? (sharesStream(event.type) ? null : titleIn(first.data));
}

function lineOf(
  row: AuditEntryRow,
  { event, before }: ReadEntry,
): Omit<AuditLine, "tokenName" | "ip" | "subject"> {
  const { id, type, stream, data, metadata } = event;
  return {
    position: row.position,
    eventId: id,
    type,
    occurredAt: row.occurred_at,
    actor: metadata.actor,
    stream,
    placeId: row.place_id,
    changes: changesOf(type, data, before),
    correlationId: metadata.correlationId,
    causationId: metadata.causationId,
  };
}
