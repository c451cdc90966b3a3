import type { Order, Outcome } from "./batch.ts";
import { sizeOf } from "./event.ts";
import { StoreFailure, unavailable } from "./failure.ts";

/** One transaction takes at most this much; the rest waits for the next. */
const batchOrdersMax = 1_000;
const batchBytesMax = 8 * 1024 * 1024;

/** While the database does not answer, orders wait in memory up to this. */
const queueBytesMax = 64 * 1024 * 1024;

export type Pending = Readonly<{
  order: Order;
  bytes: number;
  /** Milliseconds since 1970; an order still waiting then is not written any more. */
  deadline: number;
  settle: (outcome: Outcome) => void;
}>;

/** Orders waiting for the writer, in the order they came. */
export class OrderQueue {
  #pending: Pending[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  /** @throws StoreFailure when too much waits already. */
  push(order: Order, deadline: number, settle: Pending["settle"]): void {
    const events = order.work.kind === "append" ? order.work.events : [];
    const bytes = events.reduce((sum, event) => sum + sizeOf(event), 0);
    if (this.#bytes + bytes > queueBytesMax) throw unavailable("Too many appends wait already");
    this.#pending.push({ order, bytes, deadline, settle });
    this.#bytes += bytes;
  }

  /** The orders for the next transaction. */
  takeBatch(): readonly Pending[] {
    this.dropLate();
    let count = 0;
    let bytes = 0;
    for (const pending of this.#pending) {
      bytes += pending.bytes;
      if (count > 0 && (count >= batchOrdersMax || bytes > batchBytesMax)) break;
      count += 1;
    }
    const batch = this.#pending.splice(0, count);
    for (const pending of batch) this.#bytes -= pending.bytes;
    return batch;
  }

  takeAll(): readonly Pending[] {
    const all = this.#pending;
    this.#pending = [];
    this.#bytes = 0;
    return all;
  }

  /** Rejects orders past their deadline: their clients already have a timeout, or are gone. */
  dropLate(): void {
    const now = Date.now();
    if (!this.#pending.some(({ deadline }) => deadline <= now)) return;
    const late = this.#pending.filter(({ deadline }) => deadline <= now);
    this.#pending = this.#pending.filter(({ deadline }) => deadline > now);
    for (const { bytes, settle } of late) {
      this.#bytes -= bytes;
      settle(new StoreFailure({ kind: "timeout" }));
    }
  }
}
