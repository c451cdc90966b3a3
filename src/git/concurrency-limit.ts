import { Refusal } from "../platform/refusal.ts";

export type ConcurrencyOptions = Readonly<{
  /** Git programs at work at once: each may use a processor and a few hundred megabytes. */
  slotsMax: number;
  /** Of these, how many one caller may hold. */
  perCallerMax: number;
  waitMs: number;
  waitersMax: number;
}>;

const concurrencyDefault: ConcurrencyOptions = {
  slotsMax: 16,
  perCallerMax: 6,
  // Git clients wait as long as the connection is open, and do not retry by themselves.
  waitMs: 5 * 60_000,
  waitersMax: 200,
};

type Waiter = Readonly<{ caller: string; enter: () => void }>;

/** Bounds the packs that are made or taken in at once, so that one caller cannot starve the others. */
export class ConcurrencyLimit {
  readonly #options: ConcurrencyOptions;
  readonly #held = new Map<string, number>();
  readonly #waiters: Waiter[] = [];
  readonly #emptied: (() => void)[] = [];
  #taken = 0;

  constructor(options: Partial<ConcurrencyOptions> = {}) {
    this.#options = { ...concurrencyDefault, ...options };
  }

  /**
   * Resolves with a function that gives the slot back; calling it twice does nothing.
   *
   * @param gone aborts when the caller waits no longer
   * @throws Refusal 503 `git.busy` when none comes free in time, `git.gone` when `gone` was first
   */
  async enter(caller: string, gone?: AbortSignal): Promise<() => void> {
    if (gone?.aborted === true) throw nobodyWaits();
    if (!this.#free(caller)) await this.#wait(caller, gone);
    else this.#take(caller);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#leave(caller);
    };
  }

  /** Resolves when no task runs any more; no new one may enter meanwhile. */
  async empty(): Promise<void> {
    if (this.#taken > 0) await new Promise<void>((resolve) => this.#emptied.push(resolve));
  }

  #free(caller: string): boolean {
    const { slotsMax, perCallerMax } = this.#options;
    return this.#taken < slotsMax && (this.#held.get(caller) ?? 0) < perCallerMax;
  }

  #take(caller: string): void {
    this.#taken += 1;
    this.#held.set(caller, (this.#held.get(caller) ?? 0) + 1);
  }

  #wait(caller: string, gone: AbortSignal | undefined): Promise<void> {
    if (this.#waiters.length >= this.#options.waitersMax) throw busy();
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        gone?.removeEventListener("abort", leave);
      };
      const giveUp = (reason: unknown): void => {
        end();
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(reason);
      };
      const leave = (): void => giveUp(nobodyWaits());
      const waiter: Waiter = {
        caller,
        enter() {
          end();
          resolve();
        },
      };
      const timer = setTimeout(() => giveUp(busy()), this.#options.waitMs);
      gone?.addEventListener("abort", leave);
      this.#waiters.push(waiter);
    });
  }

  #leave(caller: string): void {
    this.#taken -= 1;
    const held = (this.#held.get(caller) ?? 1) - 1;
    if (held === 0) this.#held.delete(caller);
    else this.#held.set(caller, held);
    const index = this.#waiters.findIndex((waiter) => this.#free(waiter.caller));
    const [next] = index < 0 ? [] : this.#waiters.splice(index, 1);
    if (this.#taken === 0 && next === undefined) for (const notify of this.#emptied) notify();
    if (next === undefined) return;
    this.#take(next.caller);
    next.enter();
  }
}

/** The client has closed its connection, so none reads this refusal. */
function nobodyWaits(): Refusal {
  return new Refusal("unavailable", "git.gone", "The caller has gone.");
}

function busy(): Refusal {
  const message = "Too many fetches and pushes are under way.";
  return new Refusal("unavailable", "git.busy", message, { retryAfterSeconds: 10 });
}
