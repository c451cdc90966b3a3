import { type StoredEvent, sizeOf } from "./event.ts";

const countMax = 20_000;
const bytesMax = 32 * 1024 * 1024;

/** The newest events in memory, so that live subscriptions do not query the database for each. */
export class Tail {
  readonly #ring = new Array<StoredEvent | undefined>(countMax).fill(undefined);
  /** Positions of the oldest event held and of the one after the newest. */
  #first = 1;
  #end = 1;
  #bytes = 0;

  /** Position of the newest event of the log; 0 for an empty log. */
  get head(): bigint {
    return BigInt(this.#end - 1);
  }

  /** Forgets everything; the log ends at `head`. */
  reset(head: bigint): void {
    this.#ring.fill(undefined);
    this.#first = Number(head) + 1;
    this.#end = this.#first;
    this.#bytes = 0;
  }

  /** Takes the event that follows the newest one. */
  push(event: StoredEvent): void {
    this.#ring[this.#end % countMax] = event;
    this.#end += 1;
    this.#bytes += sizeOf(event);
    while (this.#end - this.#first > countMax - 1 || this.#bytes > bytesMax) this.#dropOldest();
  }

  /** Events after `position`, or undefined when the next one is not held any more. */
  after(position: bigint, limit: number): readonly StoredEvent[] | undefined {
    const start = Number(position) + 1;
    if (start >= this.#end) return [];
    if (start < this.#first) return undefined;
    const events: StoredEvent[] = [];
    for (let at = start; at < this.#end && events.length < limit; at += 1) {
      const event = this.#ring[at % countMax];
      if (event !== undefined) events.push(event);
    }
    return events;
  }

  #dropOldest(): void {
    const slot = this.#first % countMax;
    const event = this.#ring[slot];
    this.#ring[slot] = undefined;
    this.#first += 1;
    if (event !== undefined) this.#bytes -= sizeOf(event);
  }
}
