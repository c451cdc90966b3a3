import type { Readable } from "node:stream";

import { currentCaller } from "../../../../platform/caller.ts";
import { Refusal } from "../../../../platform/refusal.ts";

const retryAfterSeconds = 5;

export type ResponseBudgetMax = Readonly<{ bytes: number; callerBytes: number }>;

type Holders = Map<Buffer, number>;

/**
 * The memory of answers that are being sent: a slow reader keeps theirs for hours. What several answers share
 * counts once.
 */
export class ResponseBudget {
  readonly #max: ResponseBudgetMax;
  readonly #all: Counted = new Counted();
  readonly #ofCallers = new Map<string, Counted>();

  constructor(max: ResponseBudgetMax) {
    this.#max = max;
  }

  get bytes(): number {
    return this.#all.bytes;
  }

  /**
   * Counts the pieces until the body is closed. An answer of any size is let in while no other answer is sent.
   *
   * @throws Refusal 503 `registry.busy` when too much is being sent
   */
  hold(body: Readable, pieces: readonly Buffer[]): void {
    const caller = currentCaller();
    const own = this.#of(caller);
    const isFull =
      !this.#all.hasRoom(pieces, this.#max.bytes) ||
      (caller !== undefined && !own.hasRoom(pieces, this.#max.callerBytes));
    if (isFull) throw busy();
    for (const counted of [this.#all, own]) counted.add(pieces);
    if (caller !== undefined) this.#ofCallers.set(caller, own);
    body.once("close", () => {
      for (const counted of [this.#all, own]) counted.remove(pieces);
      if (caller !== undefined && own.bytes === 0) this.#ofCallers.delete(caller);
    });
  }

  #of(caller: string | undefined): Counted {
    return (caller === undefined ? undefined : this.#ofCallers.get(caller)) ?? new Counted();
  }
}

class Counted {
  readonly #holders: Holders = new Map();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  hasRoom(pieces: readonly Buffer[], bytesMax: number): boolean {
    const added = pieces.filter((piece) => !this.#holders.has(piece));
    const bytes = added.reduce((sum, { length }) => sum + length, 0);
    return this.#bytes === 0 || this.#bytes + bytes <= bytesMax;
  }

  add(pieces: readonly Buffer[]): void {
    for (const piece of pieces) {
      const count = this.#holders.get(piece) ?? 0;
      if (count === 0) this.#bytes += piece.length;
      this.#holders.set(piece, count + 1);
    }
  }

  remove(pieces: readonly Buffer[]): void {
    for (const piece of pieces) {
      const count = (this.#holders.get(piece) ?? 1) - 1;
      if (count > 0) {
        this.#holders.set(piece, count);
        continue;
      }
      this.#holders.delete(piece);
      this.#bytes -= piece.length;
    }
  }
}

function busy(): Refusal {
  const message = "Too many large indexes are being sent. Try again soon.";
  return new Refusal("unavailable", "registry.busy", message, { retryAfterSeconds });
}

/** Documents that an answer is sending: other requests share them meanwhile. */
export class StillSent<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>();
  readonly #gone = new FinalizationRegistry<string>((key) => {
    if (this.get(key) === undefined) this.#values.delete(key);
  });

  get(key: string): Value | undefined {
    return this.#values.get(key)?.deref();
  }

  set(key: string, value: Value): void {
    this.#values.set(key, new WeakRef(value));
    this.#gone.register(value, key);
  }
}
