import { randomUUID } from "node:crypto";
import {
  type AllStreamSubscription,
  type EventData,
  jsonEvent,
  type RecordedEvent,
  type ResolvedEvent,
  type StreamSubscription,
} from "@eventstore/db-client";

import type { EventMetadata, NewEvent } from "../../../src/events/core/event.ts";

/** A stream nobody else has, also on a server that other tests use. */
export const newStream = (): string => `test-${randomUUID()}`;

export function testEvent(n = 0, id: string = randomUUID()): EventData {
  return jsonEvent({ id, type: "Tested", data: { n }, metadata: { from: "test" } });
}

/** An event for the port. */
export function newEvent(n = 0, type = "Tested"): NewEvent {
  return { id: randomUUID(), type, data: { n }, metadata };
}

/** The envelope of the events above. */
export const metadata: EventMetadata = {
  actor: { userId: null, alias: null, via: "system", tokenId: null },
  ip: null,
  correlationId: "test",
  causationId: null,
  commandId: randomUUID(),
  schemaVersion: 1,
  occurredAt: "2026-01-01T00:00:00.000Z",
};

/** So many events, numbered from 0. */
export const testEvents = (count: number): EventData[] =>
  Array.from({ length: count }, (_, n) => testEvent(n));

/** The numbers the events were made with, in the order they are read. */
export async function numbersIn(reading: AsyncIterable<ResolvedEvent>): Promise<unknown[]> {
  const numbers: unknown[] = [];
  for await (const { event } of reading) numbers.push((event?.data as { n?: number })?.n);
  return numbers;
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** What a subscription has given so far. */
export type Followed = {
  readonly events: RecordedEvent[];
  readonly ids: readonly string[];
  readonly numbers: readonly unknown[];
  eventsOf: (stream: string) => RecordedEvent[];
  /** How many times it said that it caught up. */
  caughtUp: number;
  error: unknown;
  stop: () => Promise<void>;
};

export function follow(subscription: StreamSubscription | AllStreamSubscription): Followed {
  const events: RecordedEvent[] = [];
  const followed: Followed = {
    events,
    caughtUp: 0,
    error: undefined,
    get ids() {
      return events.map(({ id }) => id);
    },
    get numbers() {
      return events.map(({ data }) => (data as { n?: number }).n);
    },
    eventsOf: (stream) => events.filter(({ streamId }) => streamId === stream),
    stop: () => subscription.unsubscribe(),
  };
  subscription.on("data", ({ event }: ResolvedEvent) => void events.push(event!));
  subscription.on("caughtUp", () => {
    followed.caughtUp += 1;
  });
  subscription.on("error", (error: unknown) => {
    followed.error = error;
  });
  return followed;
}
