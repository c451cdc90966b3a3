import type { Recorded } from "../../events/core/event.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

/** Events held beyond the wanted number before the newest ones are dropped. */
const slack = 1_000;

export type Stretch = Readonly<{
  /** When the events occurred; `to` is not included. */
  from: string;
  to: string;
  /** Positions of the log, the first not included, the last included. */
  after?: bigint | undefined;
  last?: bigint | undefined;
  /** At most this many, the oldest ones. */
  countMax: number;
}>;

/**
 * The oldest events of some streams, in the order of the log. Holds little more than what it returns,
 * however long the streams are.
 */
export async function oldestEvents(
  streams: readonly string[],
  { from, to, after = -1n, last, countMax }: Stretch,
  { store }: Pick<WorkerDeps, "store">,
): Promise<readonly Recorded[]> {
  let kept: Recorded[] = [];
  let end = last;
  const trim = (): void => {
    kept = kept.sort((a, b) => (a.position < b.position ? -1 : 1)).slice(0, countMax);
    // An event newer than all kept ones is not among the oldest.
    if (kept.length === countMax) end = kept.at(-1)?.position;
  };
  for (const stream of new Set(streams)) {
    const start = await startAfter(stream, after, store);
    if (start === undefined) continue;
    for await (const event of store.readStream(stream, start)) {
      if (end !== undefined && event.position > end) break;
      const at = event.metadata.occurredAt;
      if (event.position <= after || at < from || at >= to) continue;
      kept.push(event);
      if (kept.length >= countMax + slack) trim();
    }
    trim();
  }
  return kept;
}

/** A range of at most this many events is read instead of being halved further. */
const nearEnough = 64n;

/** The revision to read from for events after the position; undefined when there are none. */
async function startAfter(
  stream: string,
  after: bigint,
  store: WorkerDeps["store"],
): Promise<bigint | undefined> {
  if (after < 0n) return 0n;
  const newest = await firstOf(store.readStreamBackwards(stream, 1));
  if (newest === undefined || newest.position <= after) return undefined;
  let [low, high] = [0n, newest.revision];
  while (high - low > nearEnough) {
    const middle = (low + high) / 2n;
    const event = await firstOf(store.readStream(stream, middle, 1));
    if (event !== undefined && event.position <= after) low = middle + 1n;
    else high = middle;
  }
  return low;
}

async function firstOf<Item>(items: AsyncIterable<Item>): Promise<Item | undefined> {
  for await (const item of items) return item;
  return undefined;
}

/** Where an event is: its stream, and its revision in it. */
export type EventPlace = [stream: string, revision: string];

export const placeOf = ({ stream, revision }: Recorded): EventPlace => [stream, String(revision)];

/** Events by stream and revision; deleted ones are left out. */
export async function eventsAt(
  places: readonly EventPlace[],
  { store }: Pick<WorkerDeps, "store">,
): Promise<readonly Recorded[]> {
  const events: Recorded[] = [];
  for (const [stream, revision] of places) {
    for await (const event of store.readStream(stream, BigInt(revision), 1)) events.push(event);
  }
  return events;
}
