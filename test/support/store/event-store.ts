import { EventStoreDBClient } from "@eventstore/db-client";

import { startEventStoreServer } from "../../../src/embedded/event-store/server.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { testDatabase } from "./database.ts";

export type TestEventStore = Readonly<{ url: string; store: EventStore }>;

/**
 * An event store for the calling test file: the embedded server on a database of its own, closed
 * when the file ends; or the server at EVENTSTORE_URL, whose log others write to as well. Call it
 * at the top of the file or of a `describe`, with `await`.
 */
export async function testEventStore(): Promise<TestEventStore> {
  const url = await serverUrl();
  const store = openEventStore(url);
  after(() => store.close());
  return { url, store };
}

/**
 * The same on a database that the caller has made, as an embedded service keeps its log beside the read models.
 * The caller closes it, before the database is dropped.
 */
export async function openTestEventStore(
  databaseUrl: string,
): Promise<TestEventStore & Readonly<{ close: () => Promise<void> }>> {
  const external = externalUrl();
  const server = external === undefined ? await startEventStoreServer({ databaseUrl }) : undefined;
  const url = external ?? server?.url ?? "";
  const store = openEventStore(url);
  const close = async (): Promise<void> => {
    await store.close();
    await server?.close();
  };
  return { url, store, close };
}

/** The same server by the official client itself, for what the port does not offer. */
export const testEventStoreClient = async (): Promise<EventStoreDBClient> =>
  testEventStoreClientOf(await serverUrl());

/** The same of a server that a test has already; closed when the file ends. */
export function testEventStoreClientOf(url: string): EventStoreDBClient {
  const client = EventStoreDBClient.connectionString(url);
  after(() => client.dispose());
  return client;
}

/** Whether the tests run against a server that is not the embedded one. */
export const isRealServer: boolean = (process.env["EVENTSTORE_URL"] ?? "") !== "";

/** A test of what the embedded server does otherwise than EventStoreDB: a row of the table in docs/operations.md. */
export const itOfEmbedded: Mocha.PendingTestFunction | Mocha.TestFunction = isRealServer
  ? it.skip
  : it;

function externalUrl(): string | undefined {
  const { EVENTSTORE_URL: url } = process.env;
  return url === "" ? undefined : url;
}

async function serverUrl(): Promise<string> {
  const external = externalUrl();
  if (external !== undefined) return external;
  const closing: (() => Promise<void>)[] = [];
  // Registered before the database's own hook, which drops it and needs it to be left alone.
  after(() => Promise.all(closing.map((close) => close())));
  const { url: databaseUrl } = await testDatabase();
  const server = await startEventStoreServer({ databaseUrl });
  closing.push(server.close);
  return server.url;
}
