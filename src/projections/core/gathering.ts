import { setTimeout as delay } from "node:timers/promises";
import type { Recorded } from "../../events/core/event.ts";
import type { Batch } from "./batch.ts";

/** How long an event waits for others. */
const gatherMs = 50;
/** Between the starts of two feeds: a batch of one event costs nearly as much as one of twenty. */
const betweenMsDefault = 250;
/** How many events wait before the other feed pauses: an event may have 1 MiB, and all are applied without a pause. */
const eventsMax = 400;

export type GatheringOptions = Readonly<{
  /** Called once when the feed throws, which no other batch follows then. */
  onFailure?: () => void;
  /** For tests; 250 by default. */
  betweenMs?: number;
}>;

/**
 * Puts batches together that arrive shortly after one another, and feeds what came together as one batch. One
 * feed is under way at a time.
 */
export class Gathering {
  readonly #feed: (batch: Batch) => Promise<void>;
  readonly #signal: AbortSignal;
  readonly #onFailure: () => void;
  readonly #betweenMs: number;
  #waiting: Batch[] = [];
  #events = 0;
  #running: Promise<void> | undefined;
  /** Aborts when so many events wait that the other feed pauses, and at the end. */
  #full = new AbortController();
  /** When the last feed began. */
  #fedAt = Number.NEGATIVE_INFINITY;
  #failure: { error: unknown } | undefined;

  constructor(
    feed: (batch: Batch) => Promise<void>,
    signal: AbortSignal,
    { onFailure = () => undefined, betweenMs = betweenMsDefault }: GatheringOptions = {},
  ) {
    this.#feed = feed;
    this.#signal = signal;
    this.#onFailure = onFailure;
    this.#betweenMs = betweenMs;
    // One for all waits: signals derived from a signal stay in memory as long as that one.
    signal.addEventListener("abort", () => this.#full.abort(), { once: true });
    if (signal.aborted) this.#full.abort();
  }

  /**
   * Resolves at once, or when there is room again.
   *
   * @throws what the feed threw before
   */
  async add(batch: Batch): Promise<void> {
    this.#waiting.push(batch);
    this.#events += batch.events.length;
    this.#running ??= this.#run().catch((error: unknown) => {
      this.#failure = { error };
      this.#onFailure();
    });
    if (this.#events > eventsMax) {
      this.#full.abort();
      await this.#running;
    }
    this.mustGoOn();
  }

  /** @throws what the feed threw */
  mustGoOn(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Resolves when nothing is under way; what waits is dropped once the signal has aborted. */
  async ended(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const waitMs = Math.max(gatherMs, this.#fedAt + this.#betweenMs - performance.now());
      await delay(waitMs, undefined, { signal: this.#full.signal }).catch(() => undefined);
      if (this.#signal.aborted) return;
      const batch = joined(this.#waiting);
      this.#waiting = [];
      this.#events = 0;
      this.#full = new AbortController();
      this.#fedAt = performance.now();
      if (batch !== undefined) await this.#feed(batch);
    }
    this.#running = undefined;
  }
}

/** Batches that follow one another, as one. */
function joined(batches: readonly Batch[]): Batch | undefined {
  const [first, last] = [batches[0], batches.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const events: Recorded[] = batches.flatMap((batch) => batch.events);
  return { after: first.after, upTo: last.upTo, events };
}
