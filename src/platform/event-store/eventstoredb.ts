import { setTimeout as sleep } from "node:timers/promises";
import {
  ANY,
  BACKWARDS,
  END,
  EventStoreDBClient,
  jsonEvent,
  NO_STREAM,
  type RecordedEvent,
  START,
  type StreamingRead,
  StreamNotFoundError,
} from "@eventstore/db-client";

import type { NewEvent, Recorded } from "../../events/core/event.ts";
import { invariant } from "../invariant.ts";
import { Limit } from "../limit.ts";
import { within } from "../time/within.ts";
import {
  type Appended,
  type EventStore,
  type ExpectedRevision,
  StoreUnavailable,
} from "./event-store.ts";
import { isDiscoveryFailure, isNotStarted, storeError } from "./eventstoredb-error.ts";
import { isSystemEvent, recordedOf } from "./eventstoredb-record.ts";
import { subscribeAll } from "./eventstoredb-subscription.ts";
import { flat } from "./flat.ts";
import { dropLateAnswers } from "./late-answer.ts";
import { givesPages, type PageRequest, readPages } from "./page-reader.ts";
import { mustBeSupported } from "./server-version.ts";
import { mustBeStorable } from "./storable.ts";

/**
 * The client writes all appends to one call. From the 16th unsent one on it queues them itself, and
 * when the connection breaks then, it rejects promises nobody can catch, which ends the process.
 */
const appendLimit = {
  name: "event_store.appends",
  total: 15,
  whenFull: "wait",
  keepsTurn: true,
} as const;

/** Of a call that never starts. Each further attempt means that another call has failed on the same connection. */
const startsMax = 5;

/** The server answers an append within 10 s; this is for the case that it does not. */
const appendTimeoutMs = 15_000;

/** The client waits for the end of every call, also of one that ended without saying so. */
const closeTimeoutMs = 250;

/** Events in flight between the connection and the reader. */
const readAhead = { highWaterMark: 256 };

/** For tests. */
type EventStoreOptions = Readonly<{
  /** Whether to read in pages where the server gives them. */
  pages?: boolean;
}>;

/**
 * The port over the official client, against EventStoreDB or the embedded server. Open one in a
 * process: a failure of one client's appends rejects those of every other client there.
 *
 * @param url esdb:// connection string, or esdb+unix:// and the path of a socket
 */
export function openEventStore(url: string, { pages = true }: EventStoreOptions = {}): EventStore {
  let client = clientOf(url);
  const appends = new Limit(appendLimit);
  /** A client that found no node fails all later appends: another one takes its place. */
  const renewAfter = (failed: EventStoreDBClient, error: unknown): void => {
    if (failed !== client || !isDiscoveryFailure(causeOf(error))) return;
    client = clientOf(url);
    void failed.dispose().catch(() => undefined);
  };
  const mayStartAgain = (error: unknown, attempt: number): boolean =>
    attempt < startsMax && isNotStarted(causeOf(error));
  const using = async <Result>(
    run: (client: EventStoreDBClient) => Promise<Result>,
    isRepeatable = true,
  ) => {
    for (let attempt = 1; ; attempt += 1) {
      const used = client;
      try {
        await mustBeSupported(used);
        return await run(used);
      } catch (error) {
        renewAfter(used, error);
        if (!isRepeatable || !mayStartAgain(error, attempt)) throw error;
      }
    }
  };
  async function* giving(
    read: (client: EventStoreDBClient, inPages: boolean) => AsyncIterable<readonly Recorded[]>,
  ) {
    for (let attempt = 1; ; attempt += 1) {
      const used = client;
      let hasGiven = false;
      try {
        await mustBeSupported(used);
        for await (const page of read(used, pages && (await givesPages(used)))) {
          hasGiven = true;
          yield page;
        }
        return;
      } catch (error) {
        renewAfter(used, error);
        // From its beginning it would give the same events twice; a server may word a failure as the client does.
        if (hasGiven || !mayStartAgain(error, attempt)) throw error;
      }
    }
  }
  return {
    append: (stream, expected, events) =>
      appends.run(() =>
        // Repeated with the same revision and the ids of its events, an append writes nothing twice.
        using((used) => append(used, stream, expected, events), expected !== "any"),
      ),
    readStream: (stream, fromRevision = 0n, countMax = undefined) =>
      flat(giving((...used) => readStream(...used, { stream, from: fromRevision, countMax }))),
    readStreamBackwards: (stream, countMax) =>
      flat(giving((...used) => readStream(...used, { stream, isBackwards: true, countMax }))),
    readAll: (options = {}) => flat(giving((...used) => readAll(...used, options))),
    head: () => using(head),
    end: () => using(async (used) => (await newestOf(used))?.position),
    subscribeAll: ({ after, signal }) =>
      subscribeAll({ current: () => client, onError: renewAfter }, after, signal),
    ping: (timeoutMs) =>
      within(
        timeoutMs,
        using((used) => ping(used, timeoutMs)),
        silent,
      ),
    close: () => Promise.race([client.dispose(), sleep(closeTimeoutMs, undefined, { ref: false })]),
  };
}

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined);

/** The client's own connection strings know no sockets; its constructor takes any target of gRPC. */
export function clientOf(url: string): EventStoreDBClient {
  dropLateAnswers();
  if (!url.startsWith("esdb+unix:")) return EventStoreDBClient.connectionString(url);
  const endpoint = `unix:${decodeURIComponent(new URL(url).pathname)}`;
  return new EventStoreDBClient({ endpoint }, { insecure: true });
}

async function append(
  client: EventStoreDBClient,
  stream: string,
  expected: ExpectedRevision,
  events: readonly NewEvent[],
): Promise<Appended> {
  invariant(events.length > 0, "an append has events");
  mustBeStorable(events);
  const expectedRevision = expected === "none" ? NO_STREAM : expected === "any" ? ANY : expected;
  const proposed = events.map(({ id, type, data, metadata }) =>
    jsonEvent({ id, type, data, metadata }),
  );
  try {
    const appending = client.appendToStream(stream, proposed, { expectedRevision });
    const late = () => new StoreUnavailable("The append was not answered");
    const result = await within(appendTimeoutMs, appending, late);
    if (result.position === undefined) {
      throw new StoreUnavailable("The event store did not say where the events were stored");
    }
    return { position: result.position.commit, revision: result.nextExpectedRevision };
  } catch (error) {
    throw storeError(error);
  }
}

async function* readStream(
  client: EventStoreDBClient,
  inPages: boolean,
  request: PageRequest & Readonly<{ stream: string }>,
): AsyncGenerator<readonly Recorded[]> {
  if (request.countMax === 0) return;
  if (inPages) {
    yield* readPages(client, request);
    return;
  }
  const { stream, from = 0n, isBackwards, countMax } = request;
  const forwards = { ...limit(countMax), fromRevision: from };
  const backwards = { ...limit(countMax), direction: BACKWARDS, fromRevision: END } as const;
  const open = () =>
    isBackwards
      ? client.readStream(stream, backwards, readAhead)
      : client.readStream(stream, forwards, readAhead);
  yield* singly(recorded(open));
}

/** Neither way of reading leaves out system events, and both read at a position, not after it. */
async function* readAll(
  client: EventStoreDBClient,
  inPages: boolean,
  { after, countMax = Number.POSITIVE_INFINITY }: Readonly<{ after?: bigint; countMax?: number }>,
): AsyncGenerator<readonly Recorded[]> {
  if (countMax === 0) return;
  const fromPosition = after === undefined ? START : { commit: after, prepare: after };
  const pages = inPages
    ? readPages(client, { from: after })
    : singly(recorded(() => client.readAll({ fromPosition }, readAhead)));
  let left = countMax;
  for await (const page of pages) {
    const events = page.filter(({ type, position }) => !isSystemEvent(type) && position !== after);
    if (events.length >= left) {
      yield events.slice(0, left);
      return;
    }
    left -= events.length;
    if (events.length > 0) yield events;
  }
}

async function* singly<Item>(items: AsyncIterable<Item>): AsyncGenerator<readonly Item[]> {
  for await (const item of items) yield [item];
}

async function head(client: EventStoreDBClient): Promise<bigint | undefined> {
  // Nearly always the newest event is one of ours.
  const newest = await newestOf(client);
  if (newest === undefined || !isSystemEvent(newest.type)) return newest?.position;
  for await (const event of recorded(() => client.readAll(backwards))) {
    if (!isSystemEvent(event.type)) return event.position;
  }
  return undefined;
}

/**
 * Asking for one event and reading it to its end spares the connection a reset, of which a server takes
 * only so many a second before it hangs up.
 */
async function newestOf(client: EventStoreDBClient): Promise<Recorded | undefined> {
  let newest: Recorded | undefined;
  for await (const event of recorded(() => client.readAll({ ...backwards, maxCount: 1 }))) {
    newest = event;
  }
  return newest;
}

const backwards = { direction: BACKWARDS, fromPosition: END } as const;

async function ping(client: EventStoreDBClient, timeoutMs: number): Promise<void> {
  // Of the leader: appends need one.
  const reading = client.readAll({ ...backwards, maxCount: 1, requiresLeader: true });
  try {
    const newest = first(recorded(() => reading));
    await within(timeoutMs, newest, silent);
  } finally {
    stopReading(reading);
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

async function first<Item>(items: AsyncIterable<Item>): Promise<Item | undefined> {
  for await (const item of items) return item;
  return undefined;
}

const silent = () => new StoreUnavailable("The event store does not answer");
