import { LRUCache } from "lru-cache";

import type { EventStore } from "../../platform/event-store/event-store.ts";

/** What a process knows of a stream that it has read up to `revision`. */
export type ReadStream<State> = Readonly<{
  state: State;
  revision: bigint;
  position: bigint;
  /** Marks of all commands that wrote to it. */
  commands: Set<number>;
}>;

type CachedStream = ReadStream<unknown> & Readonly<{ evolve: unknown }>;

/** Events from which on a stream is kept: below, reading it costs about as much as asking for what is new. */
const longFrom = 100;
const streamsMax = 1_000;
/** Of all streams together: a command takes some 20 bytes. */
const eventsMax = 400_000;

const cacheOf = new WeakMap<EventStore, LRUCache<string, CachedStream>>();

/**
 * What was read of a long stream before, so that a command reads only what is new. Undefined when nothing is kept, and
 * for a command that seems to have written to the stream: then all of it must be read.
 *
 * @param evolve of the slice whose state is wanted: slices may share a stream
 */
export function readBefore<State>(
  store: EventStore,
  stream: string,
  { evolve, commandId }: Readonly<{ evolve: unknown; commandId: string | undefined }>,
): ReadStream<State> | undefined {
  const cached = cacheOf.get(store)?.get(stream);
  if (cached === undefined || cached.evolve !== evolve) return undefined;
  if (commandId !== undefined && cached.commands.has(commandMark(commandId))) return undefined;
  return cached as ReadStream<State>;
}

/** Keeps what was read of a stream, if it is long. */
export function keepRead(store: EventStore, stream: string, read: CachedStream): void {
  if (read.revision < longFrom) return;
  let all = cacheOf.get(store);
  if (all === undefined) {
    const sizeCalculation = ({ revision }: CachedStream): number => Number(revision);
    all = new LRUCache({ max: streamsMax, maxSize: eventsMax, sizeCalculation });
    cacheOf.set(store, all);
  }
  // Two commands may have read at once: the newer of both states is kept.
  if ((all.peek(stream)?.revision ?? -1n) < read.revision) all.set(stream, read);
}

/** 32 bits of a UUID: two commands may have the same. */
export function commandMark(commandId: string): number {
  return Number.parseInt(commandId.slice(0, 8), 16) | 0;
}
