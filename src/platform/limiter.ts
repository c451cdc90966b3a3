import { CallerShare, currentCaller } from "./caller-share.ts";

type Waiting = Readonly<{ caller: string | undefined; start: () => void }>;

/**
 * Runs at most so many tasks at once; the others wait in the order they came. One caller has half of the
 * places at most, so that a queue of theirs holds up nobody else.
 */
export class Limiter {
  #free: number;
  readonly #share: CallerShare;
  readonly #waiting: Waiting[] = [];

  constructor(tasksMax: number, perCallerMax = Math.max(1, Math.ceil(tasksMax / 2))) {
    this.#free = tasksMax;
    this.#share = new CallerShare(perCallerMax);
  }

  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    const caller = currentCaller();
    if (this.#free > 0 && this.#share.hasRoom(caller)) this.#take(caller);
    else await new Promise<void>((start) => this.#waiting.push({ caller, start }));
    try {
      return await task();
    } finally {
      this.#free += 1;
      this.#share.giveBack(caller);
      this.#startNext();
    }
  }

  #take(caller: string | undefined): void {
    this.#free -= 1;
    this.#share.take(caller);
  }

  /** The slot passes directly to the next waiting task, so that no new task takes it. */
  #startNext(): void {
    const index = this.#waiting.findIndex(({ caller }) => this.#share.hasRoom(caller));
    const [next] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (next === undefined) return;
    this.#take(next.caller);
    next.start();
  }
}
