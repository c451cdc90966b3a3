import { setTimeout as sleep } from "node:timers/promises";
import {
  type AllStreamResolvedEvent,
  type EventStoreDBClient,
  excludeSystemEvents,
  START,
} from "@eventstore/db-client";

import type { Connection } from "./connection.ts";
import { isSystemEvent } from "./event-owner.ts";
import {
  StoreDenied,
  StoreUnavailable,
  type SubscribeOptions,
  type SubscriptionItem,
} from "./event-store.ts";
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

/**
 * All of the log after a position, for ever: the client's own subscriptions end with the connection,
 * so this one begins again after the last item it gave.
 */
export async function* subscribeAll(
  { current, onError, calls }: Pick<Connection, "current" | "onError" | "calls">,
  { after, signal, withForeign = false, onOutage }: SubscribeOptions,
): AsyncGenerator<SubscriptionItem> {
  let position = after;
  let delayMs = resubscribeDelayMs.first;
  let isOut = false;
  const hold = await calls.enter({ signal }).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  try {
    while (!signal.aborted) {
      const client = current();
      try {
        await mustBeSupported(client);
        for await (const item of subscribeOnce(client, position, signal)) {
          if (isOut) onOutage?.();
          isOut = false;
          delayMs = resubscribeDelayMs.first;
          const given = withForeign ? item : withoutForeign(item);
          if (given.kind !== "caughtUp") {
            position = given.kind === "event" ? given.event.position : given.position;
          }
          yield given;
        }
      } catch (error) {
        onError(client, error);
        if (!(error instanceof StoreUnavailable) || error instanceof StoreDenied) throw error;
        if (!isOut) onOutage?.(error);
        isOut = true;
      }
      // Aborting ends the wait by an error that says nothing new.
      await sleep(delayMs, undefined, { signal }).catch(() => undefined);
      delayMs = Math.min(delayMs * 2, resubscribeDelayMs.max);
    }
  } finally {
    hold?.leave();
  }
}

function withoutForeign(item: SubscriptionItem): SubscriptionItem {
  if (item.kind !== "event" || item.event.isForeign !== true) return item;
  return { kind: "checkpoint", position: item.event.position };
}

async function* subscribeOnce(
  client: EventStoreDBClient,
  after: bigint | undefined,
  signal: AbortSignal,
): AsyncGenerator<SubscriptionItem> {
  const filter = excludeSystemEvents({
    checkpointInterval,
    // Into the stream of events itself: the callback alone would overtake those still in flight. While it catches up,
    // a server says no more of a checkpoint than where it has read to: its other number is then 0.
    checkpointReached: (subscription, { commit }) => {
      if (commit >= positionsEnd) return;
      subscription.push({ kind: "checkpoint", position: commit } satisfies SubscriptionItem);
    },
  });
  const fromPosition = after === undefined ? START : { commit: after, prepare: after };
  const subscription = client.subscribeToAll({ fromPosition, filter }, readAhead);
  subscription.on("caughtUp", () => {
    subscription.push({ kind: "caughtUp" } satisfies SubscriptionItem);
  });
  // The loop below receives errors; one after its end has no receiver and must not throw.
  subscription.on("error", () => undefined);
  const stop = (): void => {
    subscription.destroy();
  };
  signal.addEventListener("abort", stop, { once: true });
  const items: AsyncIterable<AllStreamResolvedEvent | SubscriptionItem> = subscription;
  try {
    if (signal.aborted) return;
    for await (const given of items) {
      if ("kind" in given) yield given;
      else if (given.event !== undefined) {
        const event = recordedOf(given.event);
        // The server filters by the type alone.
        if (isSystemEvent(event)) yield { kind: "checkpoint", position: event.position };
        else yield { kind: "event", event };
      }
    }
  } catch (error) {
    if (!signal.aborted) throw storeError(error);
  } finally {
    signal.removeEventListener("abort", stop);
    void subscription.unsubscribe().catch(() => undefined);
  }
}
