import { setTimeout as sleep } from "node:timers/promises";
import {
  type AllStreamResolvedEvent,
  type EventStoreDBClient,
  excludeSystemEvents,
  START,
} from "@eventstore/db-client";

import { StoreUnavailable, type SubscriptionItem } from "./event-store.ts";
import { storeError } from "./eventstoredb-error.ts";
import { recordedOf } from "./eventstoredb-record.ts";
import { mustBeSupported } from "./server-version.ts";

/** Checkpoints come every so many times 32 events read. */
const checkpointInterval = 8;

/** Events in flight between the connection and the reader. */
const readAhead = { highWaterMark: 256 };

const resubscribeDelayMs = { first: 100, max: 5_000 };

/**
 * Positions from here on are none: EventStoreDB 24.10.0 to 24.10.4 report 2^64-1 as the checkpoint of a filtered
 * subscription in which nothing has matched.
 */
const positionsEnd = 2n ** 63n;

/** Position of an event or a checkpoint, as the server reports it. */
type Place = Readonly<{ commit: bigint; prepare: bigint }>;

/**
 * The position that says no more than both of a checkpoint do. Where `prepare` lies before `commit`, an event
 * committed at `commit` may come still, and to go on after (commit, commit) would miss it; going on after
 * (prepare, prepare) looks again at what lies between. See docs/adr/0004-checkpoint.md.
 */
const reachedAt = ({ commit, prepare }: Place): bigint => (prepare < commit ? prepare : commit);

/** The client in use, and the handler of its failures, which may replace it. */
export type Clients = Readonly<{
  current: () => EventStoreDBClient;
  onError: (client: EventStoreDBClient, error: unknown) => void;
}>;

/**
 * All of the log after `after`, for ever: the client's own subscriptions end with the connection,
 * so this one begins again after the last item it gave.
 */
export async function* subscribeAll(
  { current, onError }: Clients,
  after: bigint | undefined,
  signal: AbortSignal,
): AsyncGenerator<SubscriptionItem> {
  let place = after === undefined ? undefined : { commit: after, prepare: after };
  let delayMs = resubscribeDelayMs.first;
  while (!signal.aborted) {
    const client = current();
    try {
      await mustBeSupported(client);
      for await (const { item, at } of subscribeOnce(client, place, signal)) {
        delayMs = resubscribeDelayMs.first;
        place = at ?? place;
        yield item;
      }
    } catch (error) {
      onError(client, error);
      if (!(error instanceof StoreUnavailable)) throw error;
    }
    // Aborting ends the wait by an error that says nothing new.
    await sleep(delayMs, undefined, { signal }).catch(() => undefined);
    delayMs = Math.min(delayMs * 2, resubscribeDelayMs.max);
  }
}

type Placed = Readonly<{ item: SubscriptionItem; at?: Place | undefined }>;

async function* subscribeOnce(
  client: EventStoreDBClient,
  after: Place | undefined,
  signal: AbortSignal,
): AsyncGenerator<Placed> {
  const filter = excludeSystemEvents({
    checkpointInterval,
    // Into the stream of events itself: the callback alone would overtake those still in flight.
    checkpointReached: (subscription, { commit, prepare }) => {
      if (commit >= positionsEnd) return;
      const item = { kind: "checkpoint", position: reachedAt({ commit, prepare }) } as const;
      subscription.push({ item, at: { commit, prepare } } satisfies Placed);
    },
  });
  const subscription = client.subscribeToAll({ fromPosition: after ?? START, filter }, readAhead);
  subscription.on("caughtUp", () => {
    subscription.push({ item: { kind: "caughtUp" } } satisfies Placed);
  });
  // The loop below receives errors; one after its end has no receiver and must not throw.
  subscription.on("error", () => undefined);
  const stop = (): void => {
    subscription.destroy();
  };
  signal.addEventListener("abort", stop, { once: true });
  const items: AsyncIterable<AllStreamResolvedEvent | Placed> = subscription;
  try {
    if (signal.aborted) return;
    for await (const given of items) {
      if ("item" in given) yield given;
      else if (given.event !== undefined) {
        yield { item: { kind: "event", event: recordedOf(given.event) }, at: given.event.position };
      }
    }
  } catch (error) {
    if (!signal.aborted) throw storeError(error);
  } finally {
    signal.removeEventListener("abort", stop);
    void subscription.unsubscribe().catch(() => undefined);
  }
}
