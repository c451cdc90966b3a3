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

/** Checkpoints come every so many times 32 events looked at. */
const checkpointInterval = 8;

/** Events in flight between the connection and the reader. */
const readAhead = { highWaterMark: 256 };

const resubscribeDelayMs = { first: 100, max: 5_000 };

/**
 * All of the log after `after`, for ever: the client's own subscriptions end with the connection,
 * so this one begins again after the last item it gave.
 */
export async function* subscribeAll(
  client: EventStoreDBClient,
  after: bigint | undefined,
  signal: AbortSignal,
): AsyncGenerator<SubscriptionItem> {
  let position = after;
  let delayMs = resubscribeDelayMs.first;
  while (!signal.aborted) {
    try {
      for await (const item of subscribeOnce(client, position, signal)) {
        delayMs = resubscribeDelayMs.first;
        if (item.kind === "event") position = item.event.position;
        if (item.kind === "checkpoint") position = item.position;
        yield item;
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
    // Aborting ends the wait by an error that says nothing new.
    await sleep(delayMs, undefined, { signal }).catch(() => undefined);
    delayMs = Math.min(delayMs * 2, resubscribeDelayMs.max);
  }
}

async function* subscribeOnce(
  client: EventStoreDBClient,
  after: bigint | undefined,
  signal: AbortSignal,
): AsyncGenerator<SubscriptionItem> {
  const filter = excludeSystemEvents({
    checkpointInterval,
    // Into the stream of events itself: the callback alone would overtake those still in flight.
    checkpointReached: (subscription, { commit }) => {
      subscription.push({ kind: "checkpoint", position: commit } satisfies SubscriptionItem);
    },
  });
  const fromPosition = after === undefined ? START : { commit: after, prepare: after };
  const subscription = client.subscribeToAll({ fromPosition, filter }, readAhead);
  subscription.on("caughtUp", () => {
    subscription.push({ kind: "caughtUp" } satisfies SubscriptionItem);
  });
  // The loop below learns of errors; one that comes after its end is nobody's, and must not throw.
  subscription.on("error", () => undefined);
  const stop = (): void => {
    subscription.destroy();
  };
  signal.addEventListener("abort", stop, { once: true });
  const items: AsyncIterable<AllStreamResolvedEvent | SubscriptionItem> = subscription;
  try {
    if (signal.aborted) return;
    for await (const item of items) {
      if ("kind" in item) yield item;
      else if (item.event !== undefined) yield { kind: "event", event: recordedOf(item.event) };
    }
  } catch (error) {
    if (!signal.aborted) throw storeError(error);
  } finally {
    signal.removeEventListener("abort", stop);
    void subscription.unsubscribe().catch(() => undefined);
  }
}
