import { AsyncLocalStorage } from "node:async_hooks";

const callers = new AsyncLocalStorage<string>();

/**
 * Runs something on behalf of a caller, and counts it to the caller's share of common resources.
 *
 * @param caller id of a user, or the network of an unauthenticated client
 */
export function asCaller<Result>(caller: string, run: () => Result): Result {
  return callers.run(caller, run);
}

/** On whose behalf the present code runs; undefined for work of the service itself. */
export const currentCaller = (): string | undefined => callers.getStore();

/** Counts what each caller holds of something. */
export class CallerShare {
  readonly #held = new Map<string, number>();
  readonly #eachMax: number;

  constructor(eachMax: number) {
    this.#eachMax = eachMax;
  }

  /** Work of the service itself has no limit of its own. */
  hasRoom(caller: string | undefined): boolean {
    return caller === undefined || this.heldBy(caller) < this.#eachMax;
  }

  heldBy(caller: string): number {
    return this.#held.get(caller) ?? 0;
  }

  take(caller: string | undefined): void {
    if (caller !== undefined) this.#held.set(caller, this.heldBy(caller) + 1);
  }

  giveBack(caller: string | undefined): void {
    if (caller === undefined) return;
    const held = (this.#held.get(caller) ?? 1) - 1;
    if (held === 0) this.#held.delete(caller);
    else this.#held.set(caller, held);
  }
}
