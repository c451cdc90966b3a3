import type { Knex } from "knex";
import { eventDigest } from "../../events/core/canonical.ts";
import type { Recorded } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import type { AuditEntryRow } from "./entry.ts";
import {
  type ChainMark,
  chainBeforeEverything,
  chainHead,
  chainMarks,
  continueChain,
  eventsPerMark,
} from "./log-chain.ts";

export type ChainCheck = Readonly<
  | { equal: true; head: ChainMark }
  | {
      equal: false;
      /** The stretch of the log that differs: after the first position, up to the second. */
      between: readonly [bigint, bigint];
      /** What differs first, as far as the audit trail shows. */
      first: string;
    }
>;

/** A mark of the chain that was kept outside. */
export type KeptMark = Readonly<{ events: bigint; chain: Buffer }>;

export type CheckOptions = Readonly<{
  kept?: KeptMark;
  signal: AbortSignal;
  onProgress?: (events: bigint, ofEvents: bigint) => void;
}>;

type Deps = Readonly<{ db: Knex; store: EventStore }>;

const marksPerPage = 1_000;

/**
 * Computes the chain again from the log and compares it with every mark that was kept, and with one
 * kept outside when given. Reads the log once and holds what lies between two marks.
 */
export async function checkChain(deps: Deps, options: CheckOptions): Promise<ChainCheck> {
  const head = await chainHead(deps.db);
  const marks = marksOf(deps.db, head, options.kept);
  let expected = await nextOf(marks);
  let reached = chainBeforeEverything;
  let agreed = reached;
  let since: Recorded[] = [];
  if (expected === undefined) return { equal: true, head };
  for await (const event of deps.store.readAll()) {
    options.signal.throwIfAborted();
    reached = continueChain(reached, event);
    since.push(event);
    while (expected?.events === reached.events) {
      if (!expected.chain.equals(reached.chain))
        return differs(deps, agreed, since, reached.position);
      expected = await nextOf(marks);
    }
    if (expected === undefined) return { equal: true, head };
    if (reached.events % eventsPerMark === 0n) {
      options.onProgress?.(reached.events, head.events);
      agreed = reached;
      since = [];
    }
  }
  // The log ends before what it was to be compared with.
  return differs(deps, agreed, since, head.position);
}

/** All that the log is to be compared with, in its order. */
async function* marksOf(db: Knex, head: ChainMark, kept?: KeptMark): AsyncGenerator<KeptMark> {
  const others = [head, ...(kept ? [kept] : [])].filter(({ events }) => events > 0n);
  const later = others.sort((a, b) => (a.events < b.events ? -1 : 1));
  for (let events = 0n; ; ) {
    const page = await chainMarks(db, events, marksPerPage);
    for (const mark of page) {
      for (; later[0] !== undefined && later[0].events <= mark.events; later.shift()) {
        yield later[0];
      }
      yield mark;
      events = mark.events;
    }
    if (page.length < marksPerPage) break;
  }
  yield* later;
}

async function nextOf(marks: AsyncGenerator<KeptMark>): Promise<KeptMark | undefined> {
  const { done, value } = await marks.next();
  return done === true ? undefined : value;
}

/** Queries the audit trail, which keeps the digest of each event, where the difference begins. */
async function differs(
  { db }: Deps,
  agreed: ChainMark,
  since: readonly Recorded[],
  upTo: bigint,
): Promise<ChainCheck> {
  const rows = await db<AuditEntryRow>("audit_entry")
    .where("position", ">", agreed.position)
    .andWhere("position", "<=", upTo)
    .orderBy("position")
    .limit(since.length + 1)
    .select("*");
  return {
    equal: false,
    between: [agreed.position, upTo],
    first: firstDifference(since, rows),
  };
}

function firstDifference(since: readonly Recorded[], rows: readonly AuditEntryRow[]): string {
  for (const [index, event] of since.entries()) {
    const row = rows[index];
    const name = `${event.type} at ${event.position} in ${event.stream}`;
    if (row === undefined || row.position > event.position) return `${name} was added`;
    if (row.position < event.position) return missing(row);
    if (!eventDigest(event).equals(row.digest)) return `${name} was changed`;
  }
  const next = rows[since.length];
  if (next !== undefined) return missing(next);
  // A changed log from which the read models were rebuilt leaves no other trace.
  return "the events agree with the audit trail, but not with a mark of the chain";
}

function missing({ type, position, stream }: AuditEntryRow): string {
  return `${type} at ${position} in ${stream} is missing`;
}
