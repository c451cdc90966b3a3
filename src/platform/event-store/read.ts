import {
  BACKWARDS,
  END,
  type EventStoreDBClient,
  type RecordedEvent,
  START,
  type StreamingRead,
  StreamNotFoundError,
} from "@eventstore/db-client";

import type { Recorded } from "../../events/core/event.ts";
import { isSystemEvent } from "./event-owner.ts";
import type { ReadAllOptions } from "./event-store.ts";
import { storeError } from "./eventstoredb-error.ts";
import { recordedOf } from "./eventstoredb-record.ts";
import { type PageRequest, readPages } from "./page-reader.ts";

/** Events in flight between the connection and the reader. */
const readAhead = { highWaterMark: 256 };

type Pages = AsyncGenerator<readonly Recorded[]>;
type StreamRequest = PageRequest & Readonly<{ stream: string }>;

/** Events of the service in a stream; what others wrote between them is left out, and does not count. */
export async function* readStream(
  client: EventStoreDBClient,
  inPages: boolean,
  request: StreamRequest,
): Pages {
  let left: StreamRequest | undefined = request;
  while (left !== undefined && left.countMax !== 0) {
    const { countMax }: StreamRequest = left;
    let [all, own] = [0, 0];
    let last: Recorded | undefined;
    for await (const page of streamPages(client, inPages, left)) {
      const ours = page.filter(isOurs);
      if (ours.length > 0) yield ours;
      [all, own, last] = [all + page.length, own + ours.length, page.at(-1)];
    }
    left = all === own || countMax === undefined ? undefined : afterIt(left, countMax - own, last);
  }
}

const isOurs = (event: Recorded): boolean => event.isForeign !== true && !isSystemEvent(event);

/** What is left to read of a stream behind an event. */
function afterIt(
  request: StreamRequest,
  countMax: number,
  last: Recorded | undefined,
): StreamRequest | undefined {
  if (last === undefined) return undefined;
  const from = request.isBackwards === true ? last.revision - 1n : last.revision + 1n;
  return from < 0n ? undefined : { ...request, from, countMax };
}

/** Everything that is in a stream. */
export async function* streamPages(
  client: EventStoreDBClient,
  inPages: boolean,
  request: StreamRequest,
): Pages {
  if (inPages) {
    yield* readPages(client, request);
    return;
  }
  const { stream, from, isBackwards, countMax } = request;
  const forwards = { ...limit(countMax), fromRevision: from ?? START } as const;
  const back = { ...limit(countMax), direction: BACKWARDS, fromRevision: from ?? END } as const;
  const open = () =>
    isBackwards
      ? client.readStream(stream, back, readAhead)
      : client.readStream(stream, forwards, readAhead);
  yield* singly(recorded(open));
}

/** Neither way of reading leaves out system events, and both read at a position, not after it. */
export async function* readAll(
  client: EventStoreDBClient,
  inPages: boolean,
  options: ReadAllOptions,
): Pages {
  const { after, countMax = Number.POSITIVE_INFINITY } = options;
  if (countMax === 0) return;
  const fromPosition = after === undefined ? START : { commit: after, prepare: after };
  const pages = inPages
    ? readPages(client, { from: after })
    : singly(recorded(() => client.readAll({ fromPosition }, readAhead)));
  const isWanted = wantedBy(options);
  let left = countMax;
  for await (const page of pages) {
    const events = page.filter((event) => event.position !== after && isWanted(event));
    if (events.length >= left) {
      yield events.slice(0, left);
      return;
    }
    left -= events.length;
    if (events.length > 0) yield events;
  }
}

/** Which events of the log a reader wants. */
function wantedBy({ withForeign = false, systemStreamsUpTo = -1n }: ReadAllOptions) {
  return (event: Recorded): boolean => {
    if (event.isForeign !== true && !isSystemEvent(event)) return true;
    if (!withForeign || event.type.startsWith("$")) return false;
    return !isSystemEvent(event) || event.position <= systemStreamsUpTo;
  };
}

async function* singly<Item>(items: AsyncIterable<Item>): AsyncGenerator<readonly Item[]> {
  for await (const item of items) yield [item];
}

/**
 * Asking for one event and reading it to its end spares the connection a reset, of which a server takes
 * only so many a second before it hangs up.
 */
export async function newestOf(client: EventStoreDBClient): Promise<Recorded | undefined> {
  let newest: Recorded | undefined;
  for await (const event of recorded(() => client.readAll({ ...backwards, maxCount: 1 }))) {
    newest = event;
  }
  return newest;
}

const backwards = { direction: BACKWARDS, fromPosition: END } as const;

/** The log from its end to its beginning. */
export const readBackwards = (client: EventStoreDBClient): AsyncGenerator<Recorded> =>
  recorded(() => client.readAll(backwards, readAhead));

/** Reads the newest event, of the leader: appends need one. */
export async function requestLeader(
  client: EventStoreDBClient,
  signal: AbortSignal,
): Promise<void> {
  const reading = client.readAll({ ...backwards, maxCount: 1, requiresLeader: true });
  const stop = (): void => stopReading(reading);
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const _ of recorded(() => reading)) return;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

type Resolved = Readonly<{ event?: RecordedEvent }>;

/** What the client reads, in the port's shape; nothing for a stream that does not exist. */
async function* recorded(open: () => StreamingRead<Resolved>): AsyncGenerator<Recorded> {
  const reading = open();
  // The loop below receives errors; one after its end has no receiver and must not throw.
  reading.on("error", () => undefined);
  try {
    const items: AsyncIterable<Resolved> = reading.iterator({ destroyOnReturn: false });
    for await (const { event } of items) {
      if (event !== undefined) yield recordedOf(event);
    }
  } catch (error) {
    if (!(error instanceof StreamNotFoundError)) throw storeError(error);
  } finally {
    stopReading(reading);
  }
}

/**
 * Ends a read in the middle. It is read to its end all the same, which comes at once: destroyed
 * instead, the call behind it would stay with the client for ever, and `dispose` wait for it.
 */
function stopReading(reading: StreamingRead<Resolved>): void {
  void reading.cancel().catch(() => undefined);
  reading.resume();
}

function limit(countMax: number | undefined): { maxCount?: number } {
  return countMax === undefined ? {} : { maxCount: countMax };
}
