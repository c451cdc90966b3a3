import { currentCaller, currentSignal } from "./caller.ts";
import { Refusal } from "./refusal.ts";

export type LimitOptions = Readonly<{
  /** As `/metrics` shows it. Limits of one name are shown as one. */
  name: string;
  /** What all callers hold together at most, in this process: tasks, connections or bytes. */
  total: number;
  /** Of these, what one caller holds at most; half unless given. Work of the service itself has no share. */
  share?: number;
  /** Whether a caller waits until there is room, for some time, or not at all. */
  whenFull: "wait" | "refuse" | Readonly<{ refuseAfterMs: number }>;
  /** How many wait at once, and how many of one caller; all unless given. Further ones are refused. */
  waitersMax?: number;
  waitersShare?: number;
  /** What a caller gets who is refused; 503 `service.busy` unless given. */
  refusal?: () => Error;
  /**
   * Whether a waiter keeps its turn when its client has gone: other callers wait for the same result, or something is
   * written in part.
   */
  keepsTurn?: boolean;
}>;

export type LimitFigures = Readonly<{
  name: string;
  total: number;
  inUse: number;
  waiting: number;
  /** Since the process began. */
  refused: number;
}>;

/** What a caller holds. */
export type Hold = Readonly<{
  readonly amount: number;
  /** Holds at least so much. @throws the refusal of the limit */
  reach: (amount: number) => void;
  /** Holds exactly so much, also beyond the limit: it is there already. */
  set: (amount: number) => void;
  /** Gives all back, and takes nothing after; may be called again. */
  leave: () => void;
}>;

/** For whom something is held; the caller and the client of the present request unless given. */
export type HeldFor = Readonly<{
  caller?: string;
  /** Aborts when nobody waits any more. */
  signal?: AbortSignal | undefined;
}>;

type Caller = string | undefined;
type Waiter = Readonly<{ since: number; start: () => void }>;
type Figures = { total: number; inUse: number; waiting: number; refused: number };

const figuresByName = new Map<string, Figures>();

/** The limits of this process, by name. */
export const limitFigures = (): readonly LimitFigures[] =>
  [...figuresByName].map(([name, figures]) => ({ name, ...figures }));

/**
 * Bounds what is held at once: by all callers, and by each of them, so that one caller holds up no other. Callers that
 * wait start in the order in which they came; of several callers, the one that holds least is first.
 */
export class Limit {
  readonly #options: LimitOptions;
  readonly #share: number;
  readonly #figures: Figures;
  readonly #held = new Map<Caller, number>();
  readonly #waiting = new Map<Caller, Set<Waiter>>();
  readonly #emptied: (() => void)[] = [];
  #inUse = 0;
  #waiters = 0;
  #arrivals = 0;

  constructor(options: LimitOptions) {
    this.#options = options;
    this.#share = options.share ?? Math.max(1, Math.ceil(options.total / 2));
    const { name, total } = options;
    this.#figures = figuresByName.get(name) ?? { total, inUse: 0, waiting: 0, refused: 0 };
    figuresByName.set(name, this.#figures);
  }

  /**
   * Runs a task once there is room for one more.
   *
   * @throws the refusal of the limit; the reason of the signal; what the task throws
   */
  async run<Result>(task: () => Promise<Result> | Result, by: HeldFor = {}): Promise<Result> {
    const hold = await this.enter(by);
    try {
      return await task();
    } finally {
      hold.leave();
    }
  }

  /** Resolves once there is room for one more. @throws the refusal of the limit; the reason of the signal */
  async enter({ caller = currentCaller(), signal = this.#present() }: HeldFor = {}): Promise<Hold> {
    signal?.throwIfAborted();
    if (this.#hasRoom(caller, 1)) this.#add(caller, 1);
    else await this.#wait(caller, signal);
    return this.#holdOf(caller, 1);
  }

  /** Takes an amount without waiting. @throws the refusal of the limit */
  take(amount = 1, { caller = currentCaller() }: HeldFor = {}): Hold {
    if (!this.#hasRoom(caller, amount)) throw this.#refuse();
    this.#add(caller, amount);
    return this.#holdOf(caller, amount);
  }

  /** Holds one more without waiting; undefined when there is no room. */
  tryTake({ caller = currentCaller() }: HeldFor = {}): Hold | undefined {
    if (this.#hasRoom(caller, 1)) return this.take(1, caller === undefined ? {} : { caller });
    this.#figures.refused += 1;
    return undefined;
  }

  /** How many tasks of a caller wait. */
  waiting(caller: string): number {
    return this.#waiting.get(caller)?.size ?? 0;
  }

  get total(): number {
    return this.#options.total;
  }

  /** Of one caller. */
  get share(): number {
    return this.#share;
  }

  get inUse(): number {
    return this.#inUse;
  }

  /** Resolves when nothing is held; the caller makes sure that nothing new is taken meanwhile. */
  async empty(): Promise<void> {
    if (this.#inUse > 0) await new Promise<void>((resolve) => this.#emptied.push(resolve));
  }

  #present(): AbortSignal | undefined {
    return this.#options.keepsTurn === true ? undefined : currentSignal();
  }

  #hasRoom(caller: Caller, amount: number): boolean {
    if (amount <= 0) return true;
    if (this.#inUse + amount > this.#options.total) return false;
    return caller === undefined || this.#of(caller) + amount <= this.#share;
  }

  #of(caller: Caller): number {
    return this.#held.get(caller) ?? 0;
  }

  #add(caller: Caller, amount: number): void {
    this.#inUse += amount;
    this.#figures.inUse += amount;
    const held = this.#of(caller) + amount;
    if (held === 0) this.#held.delete(caller);
    else this.#held.set(caller, held);
  }

  #holdOf(caller: Caller, taken: number): Hold {
    let own = taken;
    let isLeft = false;
    const set = (amount: number): void => {
      if (isLeft || amount === own) return;
      const isLess = amount < own;
      this.#add(caller, amount - own);
      own = amount;
      if (isLess) this.#startWaiting();
    };
    const reach = (amount: number): void => {
      if (amount <= own || isLeft) return;
      if (!this.#hasRoom(caller, amount - own)) throw this.#refuse();
      set(amount);
    };
    const leave = (): void => {
      set(0);
      isLeft = true;
    };
    return {
      ...{ reach, set, leave },
      get amount() {
        return own;
      },
    };
  }

  #refuse(): Error {
    this.#figures.refused += 1;
    return (this.#options.refusal ?? busy)();
  }

  #wait(caller: Caller, signal: AbortSignal | undefined): Promise<void> {
    const { whenFull, waitersMax = Infinity, waitersShare = Infinity } = this.#options;
    const own = this.#waiting.get(caller) ?? new Set<Waiter>();
    const isFull = caller !== undefined && own.size >= waitersShare;
    if (whenFull === "refuse" || this.#waiters >= waitersMax || isFull) throw this.#refuse();
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", leave);
        own.delete(waiter);
        if (own.size === 0) this.#waiting.delete(caller);
        this.#count(-1);
      };
      const leave = (): void => {
        end();
        reject(signal?.reason);
      };
      const giveUp = (): void => {
        end();
        reject(this.#refuse());
      };
      const start = (): void => {
        end();
        this.#add(caller, 1);
        resolve();
      };
      const waiter: Waiter = { since: this.#arrivals, start };
      const timer = whenFull === "wait" ? undefined : setTimeout(giveUp, whenFull.refuseAfterMs);
      this.#arrivals += 1;
      signal?.addEventListener("abort", leave, { once: true });
      own.add(waiter);
      this.#waiting.set(caller, own);
      this.#count(1);
    });
  }

  #count(change: 1 | -1): void {
    this.#waiters += change;
    this.#figures.waiting += change;
  }

  /** Room passes directly to those who wait, so that no new task takes it. */
  #startWaiting(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.start();
    if (this.#inUse === 0) for (const notify of this.#emptied.splice(0)) notify();
  }

  #next(): Waiter | undefined {
    let found: Waiter | undefined;
    let least = Infinity;
    for (const [caller, [first]] of this.#waiting) {
      const held = this.#of(caller);
      if (first === undefined || held > least || !this.#hasRoom(caller, 1)) continue;
      if (held === least && found !== undefined && found.since < first.since) continue;
      found = first;
      least = held;
    }
    return found;
  }
}

function busy(): Refusal {
  const message = "Too many of these requests are under way. Try again soon.";
  return new Refusal("unavailable", "service.busy", message, { retryAfterSeconds: 5 });
}
