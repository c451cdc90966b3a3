import { randomUUID } from "node:crypto";
import { type EventData, jsonEvent, type ResolvedEvent } from "@eventstore/db-client";

/** A stream nobody else has, also on a server that other tests use. */
export const newStream = (): string => `test-${randomUUID()}`;

export function testEvent(n = 0, id: string = randomUUID()): EventData {
  return jsonEvent({ id, type: "Tested", data: { n }, metadata: { from: "test" } });
}

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
