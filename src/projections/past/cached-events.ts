import { LRUCache } from "lru-cache";

import type { Recorded } from "../../events/core/event.ts";
import { breather } from "../../platform/breather.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import type { Happened } from "../audit/happened.ts";
import { readRecorded } from "../audit/read-events.ts";

/** An event of the log, which never changes, and how many bytes it says. */
export type CachedEvent = Readonly<{ event: Recorded; bytes: number }>;

const cacheBytesMax = 32 * 1024 ** 2;
/** Of what an event takes in memory beside its data, which a read model keeps a second time. */
const bytesBeside = 3_000;

/** Reading events costs most of an answer of the past, and a caller that requests one often requests the next. */
const cache = new WeakMap<EventStore, LRUCache<string, CachedEvent>>();

/**
 * Reads the events at some positions of the log. Those read before are still in memory.
 *
 * @param take is called with each as it comes, in no order; what it throws ends the reading
 */
export async function readCached(
  store: EventStore,
  places: readonly Happened[],
  take: (cached: CachedEvent) => void,
): Promise<void> {
  const events = cacheOf(store);
  const missing: Happened[] = [];
  const breathe = breather();
  for (const place of places) {
    const one = events.get(keyOf(place));
    if (one === undefined) missing.push(place);
    else take(one);
    await breathe();
  }
  await readRecorded(store, missing, async (event) => {
    take(keep(store, event));
    await breathe();
  });
}

/** The event of a stream at a revision; undefined when there is none. */
export async function findCached(
  store: EventStore,
  stream: string,
  revision: bigint,
): Promise<Recorded | undefined> {
  const cached = cacheOf(store).get(keyOf({ stream, revision }));
  if (cached !== undefined) return cached.event;
  for await (const event of store.readStream(stream, revision, 1)) return keep(store, event).event;
  return undefined;
}

function keep(store: EventStore, event: Recorded): CachedEvent {
  const one = { event, bytes: Buffer.byteLength(JSON.stringify(event.data)) };
  cacheOf(store).set(keyOf(event), one);
  return one;
}

const keyOf = ({ stream, revision }: Pick<Recorded, "stream" | "revision">): string =>
  `${revision} ${stream}`;

function cacheOf(store: EventStore): LRUCache<string, CachedEvent> {
  const cached = cache.get(store);
  if (cached !== undefined) return cached;
  const events = new LRUCache<string, CachedEvent>({
    maxSize: cacheBytesMax,
    sizeCalculation: ({ bytes }) => 2 * bytes + bytesBeside,
  });
  cache.set(store, events);
  return events;
}
