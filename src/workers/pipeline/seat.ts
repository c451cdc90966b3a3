import { CallerShare } from "../../platform/caller-share.ts";
import { pipelinesBusy, waitingPerUserMax } from "../../platform/pipeline-file/compiler.ts";

/** Pipelines that a process creates at once, so that most of them wait for the compiler. */
const seatsMax = 2 * waitingPerUserMax;
/** Those of one user that are created or wait for a seat: two pushes of as many refs as start pipelines. */
const perUserMax = 200;
/** How many jobs that create a pipeline a worker takes at once: a user leaves as many to others. */
export const creationsAtOnce = 2 * perUserMax;

type Waiting = Readonly<{ user: string; start: () => void }>;
type Limits = Readonly<{ seats: number; ofUser: number; waitingOfUser: number }>;

/**
 * Bounds how many tasks run at once, and how many of one user. The others wait, in the order in which they come; a
 * seat that gets free goes to the user who has the fewest.
 */
export class Seats {
  readonly #waiting: Waiting[] = [];
  /** With a seat. */
  readonly #seated: CallerShare;
  /** With a seat or without. */
  readonly #all: CallerShare;
  #free: number;

  constructor({ seats, ofUser, waitingOfUser }: Limits) {
    this.#seated = new CallerShare(ofUser);
    this.#all = new CallerShare(waitingOfUser);
    this.#free = seats;
  }

  /** @throws Refusal 503 `pipeline.busy` when too many tasks of the user wait; the reason of the signal */
  async run<Result>(user: string, task: () => Promise<Result>, signal: AbortSignal) {
    if (!this.#all.hasRoom(user)) throw pipelinesBusy();
    this.#all.take(user);
    try {
      await this.#sit(user, signal);
      return await this.#runSeated(user, task);
    } finally {
      this.#all.giveBack(user);
    }
  }

  /** How many tasks of a user have no seat yet. */
  waiting(user: string): number {
    return this.#all.heldBy(user) - this.#seated.heldBy(user);
  }

  async #runSeated<Result>(user: string, task: () => Promise<Result>): Promise<Result> {
    try {
      return await task();
    } finally {
      this.#free += 1;
      this.#seated.giveBack(user);
      this.#fill();
    }
  }

  async #sit(user: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const waiting = { user, start: () => begin() };
      const leave = (): void => {
        const index = this.#waiting.indexOf(waiting);
        if (index >= 0) this.#waiting.splice(index, 1);
        reject(signal.reason);
      };
      const begin = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiting);
      this.#fill();
    });
  }

  #fill(): void {
    while (this.#free > 0) {
      const next = this.#next();
      if (next === undefined) return;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.#free -= 1;
      this.#seated.take(next.user);
      next.start();
    }
  }

  #next(): Waiting | undefined {
    let found: Waiting | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const each of this.#waiting) {
      const seated = this.#seated.heldBy(each.user);
      if (seated >= fewest || !this.#seated.hasRoom(each.user)) continue;
      fewest = seated;
      found = each;
    }
    return found;
  }
}

/** Of this process, for all queues whose jobs create pipelines: the compiler has no more room for a user. */
export const creationSeats = new Seats({
  seats: seatsMax,
  ofUser: waitingPerUserMax,
  waitingOfUser: perUserMax,
});
