import type { Recorded } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { invariant } from "../../platform/invariant.ts";
import { type Data, saidAfter, saysNoBefore } from "./change.ts";
import type { AuditEntryRow } from "./entry.ts";

export type ReadEntry = Readonly<{
  event: Recorded;
  /** What was said in its stream before it, where the event does not say what was there itself. */
  before: Data;
  /** The event that the stream began with. */
  first: Recorded;
}>;

type Place = Pick<AuditEntryRow, "position" | "stream" | "revision">;

const streamsAtOnce = 8;
/** Events between two that are asked for are read in passing rather than by a read of their own. */
const gapMax = 32n;

/**
 * The events at some places of the log, by position. Of each stream only what is needed is read: the
 * events themselves, the first one, and what came before where that alone tells the old values.
 */
export async function readEntries(
  store: EventStore,
  places: readonly Place[],
): Promise<ReadonlyMap<bigint, ReadEntry>> {
  const streams = new Map<string, bigint[]>();
  for (const { stream, revision } of places) {
    streams.set(stream, [...(streams.get(stream) ?? []), revision]);
  }
  const waiting = [...streams];
  const found = new Map<bigint, ReadEntry>();
  const reader = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [stream, revisions] = next;
      revisions.sort((a, b) => (a < b ? -1 : 1));
      for (const entry of await readStreamEntries(store, stream, revisions)) {
        found.set(entry.event.position, entry);
      }
    }
  };
  await Promise.all(Array.from({ length: streamsAtOnce }, reader));
  return found;
}

/** @param revisions in their order */
async function readStreamEntries(
  store: EventStore,
  stream: string,
  revisions: readonly bigint[],
): Promise<readonly ReadEntry[]> {
  const events = new Map<bigint, Recorded>();
  for (const { from, count } of runsOf([0n, ...revisions])) {
    for await (const event of store.readStream(stream, from, count)) {
      events.set(event.revision, event);
    }
  }
  const wanted = revisions.map((revision) => {
    const event = events.get(revision);
    invariant(event !== undefined, `event ${revision} of ${stream} is in the log`);
    return event;
  });
  const first = events.get(0n);
  invariant(first !== undefined, `${stream} has a first event`);
  const upTo = wanted.findLast(saysNoBefore)?.revision;
  const said = upTo === undefined ? new Map<bigint, Data>() : await saidBefore(store, stream, upTo);
  return wanted.map((event) => ({ event, first, before: said.get(event.revision) ?? {} }));
}

type RevisionRun = Readonly<{ from: bigint; count: number }>;

function runsOf(revisions: readonly bigint[]): readonly RevisionRun[] {
  const runs: { from: bigint; to: bigint }[] = [];
  for (const revision of revisions) {
    const last = runs.at(-1);
    if (last !== undefined && revision - last.to <= gapMax) last.to = revision;
    else runs.push({ from: revision, to: revision });
  }
  return runs.map(({ from, to }) => ({ from, count: Number(to - from) + 1 }));
}

/** What was said before each event that does not tell old values itself, up to a revision. */
async function saidBefore(
  store: EventStore,
  stream: string,
  upTo: bigint,
): Promise<Map<bigint, Data>> {
  const before = new Map<bigint, Data>();
  let said: Data = {};
  for await (const event of store.readStream(stream, 0n, Number(upTo) + 1)) {
    if (saysNoBefore(event)) before.set(event.revision, said);
    said = saidAfter(said, event);
  }
  return before;
}
