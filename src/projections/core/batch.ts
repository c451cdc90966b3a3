import { setImmediate as nextTurn } from "node:timers/promises";

import type { Recorded } from "../../events/core/event.ts";
import type { SubscriptionItem } from "../../platform/event-store/event-store.ts";

/** A stretch of the log without holes: every event after `after` up to and with `upTo`. */
export type Batch = Readonly<{ after: bigint; upTo: bigint; events: readonly Recorded[] }>;

/** What says something of a place in the log. */
type Placed = Exclude<SubscriptionItem, Readonly<{ kind: "caughtUp" }>>;

/**
 * Cuts a subscription into batches: whatever arrived while the last one was worked on, at once and
 * at most `eventsMax`. So a single event does not wait, and many are taken together. Reads ahead
 * by one batch and then lets the subscription wait.
 */
export async function* batches(
  items: AsyncIterable<SubscriptionItem>,
  after: bigint,
  eventsMax: number,
): AsyncGenerator<Batch> {
  const buffer: Placed[] = [];
  const reader = new Turn();
  const writer = new Turn();
  let state: { ended: boolean; error?: unknown } = { ended: false };

  const pump = async (): Promise<void> => {
    try {
      for await (const item of items) {
        if (item.kind === "caughtUp") continue;
        buffer.push(item);
        reader.wake();
        while (buffer.length >= eventsMax && !state.ended) await writer.wait();
        if (state.ended) return;
      }
      state = { ended: true };
    } catch (error) {
      state = { ended: true, error };
    }
    reader.wake();
  };
  const pumping = pump();

  try {
    let position = after;
    for (;;) {
      while (buffer.length === 0 && !state.ended) await reader.wait();
      if (buffer.length === 0) break;
      // Events of one append arrive in one piece, and are decoded one after the other in this turn of the event loop.
      if (buffer.length < eventsMax) await nextTurn();
      const batch = toBatch(position, buffer.splice(0, eventsMax));
      writer.wake();
      yield batch;
      position = batch.upTo;
    }
    if (state.error !== undefined) throw state.error;
  } finally {
    state = { ...state, ended: true };
    writer.wake();
    void pumping;
  }
}

function toBatch(after: bigint, items: readonly Placed[]): Batch {
  const events: Recorded[] = [];
  let upTo = after;
  for (const item of items) {
    if (item.kind === "event") events.push(item.event);
    const position = item.kind === "event" ? item.event.position : item.position;
    if (position > upTo) upTo = position;
  }
  return { after, upTo, events };
}

/** One waits, another wakes; a wake before the wait is kept. */
class Turn {
  #woken = false;
  #resolve: (() => void) | undefined;

  wake(): void {
    this.#woken = true;
    this.#resolve?.();
  }

  async wait(): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
    }
    this.#woken = false;
    this.#resolve = undefined;
  }
}
