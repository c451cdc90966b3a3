import { eventDigest } from "../../events/core/canonical.ts";
import type { Recorded } from "../../events/core/event.ts";
import { type EventStore, RevisionConflict } from "../../platform/event-store/event-store.ts";
import { retry } from "../core/retry.ts";
import { leafOf } from "./log-tree.ts";
import { GrowingTree } from "./merkle.ts";

/** The log that is imported into holds something else than what is imported. */
export class OtherLog extends Error {
  override readonly name = "OtherLog";
}

export type Imported = Readonly<{
  events: number;
  /** Of the tree over them (RFC 9162): equal logs have equal ones, whatever store they are in. */
  root: Buffer;
  /** Where the log ends now; undefined when there is nothing in it. */
  head: bigint | undefined;
  /** For each requested position, one that is not after it here: of the last append up to there. */
  positions: ReadonlyMap<bigint, bigint>;
}>;

export type ImportOptions = Readonly<{
  signal: AbortSignal;
  /** Positions in the exported log, to be mapped to positions in this one. */
  places?: readonly bigint[];
  /** Awaited once before anything is written; never called when everything is there already. */
  beforeFirst?: () => Promise<void>;
  onProgress?: (events: number) => void;
}>;

/** An append is one message; what belongs to one stream and stands together goes together. */
const eventsAtOnce = 100;
const bytesAtOnce = 512 * 1024;

/**
 * Puts events into a store in their order, with their ids, streams and revisions. What an earlier run that was
 * interrupted has put there is compared and left; anything else there is refused before anything is written.
 *
 * @param events checked, in the order of their log
 * @throws OtherLog
 */
export async function importEvents(
  events: AsyncIterable<Recorded>,
  store: EventStore,
  options: ImportOptions,
): Promise<Imported> {
  const existing = store.readAll()[Symbol.asyncIterator]();
  try {
    return await importAfter(existing, events, store, options);
  } finally {
    await existing.return?.();
  }
}

async function importAfter(
  existing: AsyncIterator<Recorded>,
  events: AsyncIterable<Recorded>,
  store: EventStore,
  { signal, places = [], beforeFirst, onProgress }: ImportOptions,
): Promise<Imported> {
  const reached = placesReached(places);
  const tree = new GrowingTree();
  let isNew = false;
  let head: bigint | undefined;
  let batch: Recorded[] = [];
  let bytes = 0;
  const write = async (): Promise<void> => {
    head = await retry(
      signal,
      () => append(store, batch),
      () => undefined,
    );
    reached.passed(batch.at(-1)?.position ?? -1n, head);
    onProgress?.(Number(tree.size));
    [batch, bytes] = [[], 0];
  };
  for await (const event of events) {
    signal.throwIfAborted();
    if (!isNew) {
      const { done, value: there } = await existing.next();
      if (done !== true) {
        mustBeSame(event, there);
        tree.add(leafOf(event));
        head = there.position;
        reached.passed(event.position, head);
        continue;
      }
      isNew = true;
      await beforeFirst?.();
    }
    const size = Buffer.byteLength(JSON.stringify([event.data, event.metadata]));
    const isFull = batch.length === eventsAtOnce || bytes + size > bytesAtOnce;
    const goesAlong = batch[0]?.stream === event.stream && !isFull;
    if (batch.length > 0 && !goesAlong) await write();
    tree.add(leafOf(event));
    batch.push(event);
    bytes += size;
  }
  if (batch.length > 0) await write();
  if (!isNew && (await existing.next()).done !== true) {
    throw new OtherLog("The log of this instance holds more events than what is imported");
  }
  return { events: Number(tree.size), root: tree.root(), head, positions: reached.found() };
}

async function append(store: EventStore, batch: readonly Recorded[]): Promise<bigint> {
  const [first] = batch as [Recorded, ...Recorded[]];
  const expected = first.revision === 0n ? "none" : first.revision - 1n;
  const events = batch.map(({ id, type, data, metadata }) => ({ id, type, data, metadata }));
  try {
    return (await store.append(first.stream, expected, events)).position;
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
    throw new OtherLog(`Another process writes to ${first.stream}: stop every role of the service`);
  }
}

function mustBeSame(event: Recorded, there: Recorded): void {
  if (eventDigest(event).equals(eventDigest(there))) return;
  throw new OtherLog(
    `The log of this instance is not empty, and ${there.type} in ${there.stream} at position ` +
      `${there.position} is not in what is imported: import into an empty instance`,
  );
}

/** Positions of one log by those of another, to which the same events are put. */
function placesReached(places: readonly bigint[]) {
  const open = [...new Set(places)].sort((a, b) => (a < b ? -1 : 1));
  const found = new Map<bigint, bigint>();
  let last = -1n;
  return {
    passed(there: bigint, here: bigint): void {
      for (let place = open[0]; place !== undefined && place < there; place = open[0]) {
        found.set(place, last);
        open.shift();
      }
      last = here;
    },
    found(): ReadonlyMap<bigint, bigint> {
      for (const place of open) found.set(place, last);
      return found;
    },
  };
}
