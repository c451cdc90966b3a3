import type { Recorded } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { invariant } from "../../platform/invariant.ts";
import { type Data, lacksBefore, StreamData } from "./change.ts";
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
/** Up to so many events between two requested ones are read along with them instead of by a second read. */
const gapMax = 32n;

/**
 * The events at some places of the log with what came before them, by position. Of each stream only what
 * is needed is read: the events themselves, the first one, and what came before where that alone shows
 * the old values.
 */
export function readEntries(
  store: EventStore,
  places: readonly Place[],
): Promise<ReadonlyMap<bigint, ReadEntry>> {
  return byStream(places, (stream, revisions) => readStreamEntries(store, stream, revisions));
}

/**
 * The events at some places of the log, by position.
 *
 * @param onEvent is called with each as it comes, in no order; what it throws ends the reading
 */
export function readRecorded(
  store: EventStore,
  places: readonly Pick<Place, "stream" | "revision">[],
  onEvent?: (event: Recorded) => Promise<void>,
): Promise<ReadonlyMap<bigint, Recorded>> {
  return byStream(places, async (stream, revisions) => {
    const events = await readRevisions(store, stream, revisions, onEvent);
    return new Map(revisions.map((revision) => at(events, stream, revision)));
  });
}

/** @param read gets the revisions of one stream in their order */
async function byStream<Value>(
  places: readonly Pick<Place, "stream" | "revision">[],
  read: (stream: string, revisions: readonly bigint[]) => Promise<ReadonlyMap<bigint, Value>>,
): Promise<ReadonlyMap<bigint, Value>> {
  const streams = new Map<string, bigint[]>();
  for (const { stream, revision } of places) {
    const revisions = streams.get(stream) ?? [];
    revisions.push(revision);
    streams.set(stream, revisions);
  }
  const waiting = [...streams];
  const found = new Map<bigint, Value>();
  const reader = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [stream, revisions] = next;
      revisions.sort((a, b) => (a < b ? -1 : 1));
      for (const [position, value] of await read(stream, revisions)) found.set(position, value);
    }
  };
  await Promise.all(Array.from({ length: streamsAtOnce }, reader));
  return found;
}

async function readStreamEntries(
  store: EventStore,
  stream: string,
  revisions: readonly bigint[],
): Promise<ReadonlyMap<bigint, ReadEntry>> {
  const events = await readRevisions(store, stream, [0n, ...revisions]);
  const [, first] = at(events, stream, 0n);
  const wanted = revisions.map((revision) => at(events, stream, revision)[1]);
  const upTo = wanted.findLast(lacksBefore)?.revision;
  const data = upTo === undefined ? new Map<bigint, Data>() : await dataBefore(store, stream, upTo);
  return new Map(
    wanted.map((event) => {
      const before = data.get(event.revision) ?? {};
      return [event.position, { event, first, before }];
    }),
  );
}

/** @param revisions in their order */
async function readRevisions(
  store: EventStore,
  stream: string,
  revisions: readonly bigint[],
  onEvent?: (event: Recorded) => Promise<void>,
): Promise<ReadonlyMap<bigint, Recorded>> {
  const wanted = new Set(revisions);
  const events = new Map<bigint, Recorded>();
  for (const { from, count } of runsOf(revisions)) {
    for await (const event of store.readStream(stream, from, count)) {
      if (!wanted.has(event.revision)) continue;
      await onEvent?.(event);
      events.set(event.revision, event);
    }
  }
  return events;
}

function at(
  events: ReadonlyMap<bigint, Recorded>,
  stream: string,
  revision: bigint,
): readonly [bigint, Recorded] {
  const event = events.get(revision);
  invariant(event !== undefined, `event ${revision} of ${stream} is in the log`);
  return [event.position, event];
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

/** What was said before each event that does not hold old values itself, up to a revision. */
async function dataBefore(
  store: EventStore,
  stream: string,
  upTo: bigint,
): Promise<Map<bigint, Data>> {
  const before = new Map<bigint, Data>();
  const said = new StreamData();
  for await (const event of store.readStream(stream, 0n, Number(upTo) + 1)) {
    if (lacksBefore(event)) before.set(event.revision, said.before(event));
    said.add(event);
  }
  return before;
}
