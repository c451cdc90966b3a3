import { setTimeout as sleep } from "node:timers/promises";
import { EventStoreDBClient } from "@eventstore/db-client";
import type { Channel } from "@grpc/grpc-js";

import type { Recorded } from "../../events/core/event.ts";
import { Limit } from "../limit.ts";
import { StoreDenied, StoreUnavailable } from "./event-store.ts";
import { isDiscoveryFailure, isNotStarted } from "./eventstoredb-error.ts";
import { dropLateAnswers } from "./late-answer.ts";
import { mustBeSupported } from "./server-version.ts";

/** Of a call that never starts. Each further attempt means that another call has failed on the same connection. */
const startsMax = 5;

/** The client waits for the end of every call, also of one that ended without saying so. */
const closeTimeoutMs = 250;

/** How long a call waits for a place among the calls of its connection. */
const placeTimeoutMs = 5_000;

/**
 * EventStoreDB serves 100 calls of a connection at once, and those beyond wait for ever: the rest is for appends, what
 * they read, and calls of the client itself. Reads that others are made within do not wait for each other for ever.
 */
const callLimit = {
  name: "event_store.calls",
  total: 80,
  whenFull: { refuseAfterMs: placeTimeoutMs },
  refusal: () => new StoreUnavailable("Too many reads of the event store are under way"),
} as const;

/**
 * A connection whose server freezes is noticed after both of the first, in milliseconds. A frozen node of several is left
 * for the next one after the last, in seconds: before a writer gives up.
 */
const keepAlive = { keepAliveInterval: 10_000, keepAliveTimeout: 2_000, gossipTimeout: 2 };

export type Connection = Readonly<{
  current: () => EventStoreDBClient;
  /** Another client takes the place of this one, whose calls are ended. */
  replace: (client: EventStoreDBClient) => void;
  /** Replaces a client that its failure makes useless. */
  onError: (client: EventStoreDBClient, error: unknown) => void;
  /** Runs a call, again when it was never sent. */
  using: <Result>(
    run: (client: EventStoreDBClient) => Promise<Result>,
    isRepeatable?: boolean,
  ) => Promise<Result>;
  /** Gives what a read gives, which is begun again only before it gave something. */
  giving: (
    read: (client: EventStoreDBClient) => AsyncIterable<readonly Recorded[]>,
  ) => AsyncGenerator<readonly Recorded[]>;
  /** Bounds the calls of the connection. */
  calls: Limit;
  close: () => Promise<void>;
}>;

/**
 * The client in use. Open one in a process: a failure of one client's appends rejects those of every other client there.
 */
export function openConnection(url: string): Connection {
  let client = clientOf(url);
  const calls = new Limit(callLimit);
  const renew = (failed: EventStoreDBClient, end: typeof hangUp): void => {
    if (failed !== client) return;
    client = clientOf(url);
    void end(failed).catch(() => undefined);
  };
  const replace = (failed: EventStoreDBClient): void => renew(failed, hangUp);
  /** A client that found no node, or was denied access, fails all later calls by what it keeps of that. */
  const onError = (failed: EventStoreDBClient, error: unknown): void => {
    if (error instanceof StoreDenied) replace(failed);
    else if (isDiscoveryFailure(causeOf(error))) renew(failed, (found) => found.dispose());
  };
  const mayStartAgain = (error: unknown, attempt: number): boolean =>
    attempt < startsMax && isNotStarted(causeOf(error));
  return {
    ...{ replace, onError, calls },
    current: () => client,
    async using(run, isRepeatable = true) {
      for (let attempt = 1; ; attempt += 1) {
        const used = client;
        try {
          await mustBeSupported(used);
          return await run(used);
        } catch (error) {
          onError(used, error);
          if (!isRepeatable || !mayStartAgain(error, attempt)) throw error;
        }
      }
    },
    async *giving(read) {
      const hold = await calls.enter();
      try {
        for (let attempt = 1; ; attempt += 1) {
          const used = client;
          let hasGiven = false;
          try {
            await mustBeSupported(used);
            for await (const item of read(used)) {
              hasGiven = true;
              yield item;
            }
            return;
          } catch (error) {
            onError(used, error);
            // From its beginning it would give the same events twice; a server may word a failure as the client does.
            if (hasGiven || !mayStartAgain(error, attempt)) throw error;
          }
        }
      } finally {
        hold.leave();
      }
    },
    close: () => Promise.race([client.dispose(), sleep(closeTimeoutMs, undefined, { ref: false })]),
  };
}

/** What the client keeps for itself: its connection, once it has found a node. */
type Internal = Readonly<{ getChannel: () => Promise<Channel> }>;

/** Ends the calls of a client and its connection, which would stay as long as a server that hangs keeps it. */
async function hangUp(client: EventStoreDBClient): Promise<void> {
  const { getChannel } = client as unknown as Internal;
  const channel = await getChannel();
  const ended = client.dispose();
  channel.close();
  await ended;
}

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined);

/** The client's own connection strings know no sockets; its constructor takes any target of gRPC. */
export function clientOf(url: string): EventStoreDBClient {
  dropLateAnswers();
  if (!url.startsWith("esdb+unix:")) return EventStoreDBClient.connectionString(withKeepAlive(url));
  const endpoint = `unix:${decodeURIComponent(new URL(url).pathname)}`;
  return new EventStoreDBClient({ endpoint }, { insecure: true });
}

/** What the address says itself has precedence. */
export function withKeepAlive(url: string): string {
  const text = url.trim();
  const start = text.indexOf("?", credentials.exec(text)?.[0].length);
  const address = start === -1 ? text : text.slice(0, start);
  const given = start === -1 ? [] : text.slice(start + 1).split("&");
  const names = new Set(given.map((part) => flatName(part.split("=", 1)[0] ?? "")));
  const own = Object.entries(keepAlive)
    .filter(([name]) => !names.has(flatName(name)))
    .map(([name, ms]) => `${name}=${ms}`);
  return `${address}?${[...given, ...own].join("&")}`;
}

/** What the client takes for a name and a password, which may have a question mark. */
const credentials = /^[^:]+:\/\/[^:]+:[^@]+@/;

/** The client takes names of options in any case, and with `-` and `_` in them. */
const flatName = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, "");
