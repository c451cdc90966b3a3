import { setTimeout as sleep } from "node:timers/promises";
import {
  ANY,
  type AppendResult,
  type EventStoreDBClient,
  jsonEvent,
  NO_STREAM,
} from "@eventstore/db-client";

import type { NewEvent, Recorded } from "../../events/core/event.ts";
import { invariant } from "../invariant.ts";
import { Limit } from "../limit.ts";
import { within } from "../time/within.ts";
import type { Connection } from "./connection.ts";
import {
  type Appended,
  type ExpectedRevision,
  RevisionConflict,
  StoreUnavailable,
} from "./event-store.ts";
import { isGivenUp, isTimeout, storeError } from "./eventstoredb-error.ts";
import { newestOf, streamPages } from "./read.ts";
import { mustBeStorable } from "./storable.ts";
import type { StoreClock } from "./store-clock.ts";

/** From the call to its answer, with the wait for a place and repeats. */
export const appendTimeoutMs = 5_000;

/**
 * The client writes all appends to one call. From the 16th unsent one on it queues them itself, and
 * when the connection breaks then, it rejects promises nobody can catch, which ends the process.
 */
const appendLimit = {
  name: "event_store.appends",
  total: 15,
  whenFull: { refuseAfterMs: appendTimeoutMs },
  refusal: () => notAnswered(),
  keepsTurn: true,
} as const;

/**
 * The client sends the time at which the server shall give up, by the clock of this machine, which may be wrong by hours.
 * The server has a limit of its own for a write, and the one above is for the case that it does not answer.
 */
const deadlineMs = 24 * 3_600_000;

/** So long a server that works answers a write. */
const silentMs = 2_000;

type Request = Readonly<{
  stream: string;
  expected: ExpectedRevision;
  events: readonly NewEvent[];
}>;

export type Appender = (request: Request) => Promise<Appended>;

/** Appends by a connection, which is replaced when it does not answer one in time. */
export function appenderOf(connection: Connection, clock: StoreClock): Appender {
  const appends = new Limit(appendLimit);
  return async (request) => {
    invariant(request.events.length > 0, "an append has events");
    mustBeStorable(request.events);
    const until = performance.now() + appendTimeoutMs;
    const begunAt = Date.now();
    const hold = await appends.enter();
    const sentAt = performance.now();
    const used = connection.current();
    let isLate = false;
    const late = (): Error => {
      isLate = true;
      return notAnswered();
    };
    try {
      const appending = settled(connection, request, until);
      const appended = await within(Math.max(0, until - performance.now()), appending, late);
      if (isMadeNow(request, begunAt)) {
        clock.note(connection, { ...request, ...appended, begunAt });
      }
      return appended;
    } finally {
      hold.leave();
      // Other appends of the connection are repeated by the next one. One that waited for its place most of the time says
      // nothing of the connection.
      if (isLate && performance.now() - sentAt >= silentMs) connection.replace(used);
    }
  };
}

/** A repeat of an earlier process is answered as the first time: it shows no clock of today. */
const isMadeNow = ({ events }: Request, begunAt: number): boolean =>
  events.every(({ metadata }) => Math.abs(begunAt - Date.parse(metadata.occurredAt)) < 5_000);

const notAnswered = () => new StoreUnavailable("The append was not answered");

/** Of an append that the server did not finish, such as one that another process makes at the same time. */
const repeatPauseMs = 50;

/** Repeats what may be repeated, as long as there is time. */
async function settled(connection: Connection, request: Request, until: number): Promise<Appended> {
  // Repeated with the same revision and the ids of its events, an append writes nothing twice.
  const isRepeatable = request.expected !== "any";
  let { expected } = request;
  for (;;) {
    const used = connection.current();
    try {
      const send = (client: EventStoreDBClient) => append(client, { ...request, expected });
      return await connection.using(send, isRepeatable);
    } catch (error) {
      if (!isRepeatable || performance.now() >= until) throw error;
      if (error instanceof RevisionConflict) {
        const behind = await connection.using((client) => behindOthers(client, request));
        if (behind === undefined || behind === expected) throw error;
        if (typeof behind !== "bigint") return behind;
        expected = behind;
      } else if (isTimeout(error)) {
        await sleep(repeatPauseMs);
      } else if (!isGivenUp(error) || used === connection.current()) {
        throw error;
      }
    }
  }
}

async function append(client: EventStoreDBClient, request: Request): Promise<Appended> {
  const { stream, expected, events } = request;
  const expectedRevision = expected === "none" ? NO_STREAM : expected === "any" ? ANY : expected;
  const proposed = events.map(({ id, type, data, metadata }) =>
    jsonEvent({ id, type, data, metadata }),
  );
  let result: AppendResult;
  try {
    result = await client.appendToStream(stream, proposed, {
      expectedRevision,
      deadline: deadlineMs,
    });
  } catch (error) {
    throw storeError(error);
  }
  const { position, nextExpectedRevision: revision } = result;
  return { position: position?.commit ?? (await positionNow(client)), revision };
}

/**
 * A server that has the events from before, and no longer where they were, says no position: they were truncated or
 * deleted since. They lie before the end of the log.
 */
async function positionNow(client: EventStoreDBClient): Promise<bigint> {
  const newest = await newestOf(client);
  if (newest === undefined) {
    throw new StoreUnavailable("The event store did not say where the events were stored");
  }
  return newest.position;
}

/**
 * What another application wrote to a stream of ours moves its revision, and nothing that the service reads of it.
 *
 * @returns the last revision of such events, behind which the append belongs; where it is, when it was stored there
 *   before; undefined when the conflict is with an event of the service
 */
async function behindOthers(
  client: EventStoreDBClient,
  { stream, expected, events }: Request,
): Promise<bigint | Appended | undefined> {
  let from = typeof expected === "bigint" ? expected + 1n : 0n;
  let revision: bigint | undefined;
  const own: Recorded[] = [];
  for (let isEnd = false; !isEnd; ) {
    const countMax = events.length - own.length;
    const read = await collected(streamPages(client, false, { stream, from, countMax }));
    for (const event of read) {
      const isOther = event.isForeign === true;
      if (isOther ? own.length > 0 : event.id !== events[own.length]?.id) return undefined;
      if (isOther) revision = event.revision;
      else own.push(event);
    }
    from = (read.at(-1)?.revision ?? from) + 1n;
    isEnd = own.length === events.length || read.length < countMax;
  }
  const last = own.at(-1);
  if (last === undefined) return revision;
  if (own.length < events.length) return undefined;
  return { position: last.position, revision: last.revision };
}

/** To its end: the server ends a connection on which many reads are broken off. */
async function collected(pages: AsyncIterable<readonly Recorded[]>): Promise<readonly Recorded[]> {
  const events: Recorded[] = [];
  for await (const page of pages) events.push(...page);
  return events;
}
