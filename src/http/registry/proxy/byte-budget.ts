import { currentCaller } from "../../../platform/caller-share.ts";
import { Refusal } from "../../../platform/refusal.ts";

const retryAfterSeconds = 5;

/** What a caller holds of a budget; it grows with the bytes that arrive. */
export type Hold = Readonly<{
  /** Holds at least so many bytes. @throws Refusal 503 `registry.busy` */
  reach: (bytes: number) => void;
  /** Holds exactly so many bytes; also beyond the budget: they are there already. */
  set: (bytes: number) => void;
  /** How many it holds. */
  readonly bytes: number;
  /** Gives all back, and takes nothing after; may be called again. */
  leave: () => void;
}>;

/** Bytes of this machine that all callers share; one of them gets a part. Nobody waits for them. */
export class ByteBudget {
  #held = 0;
  readonly #byCaller = new Map<string, number>();

  constructor(
    readonly bytesMax: number,
    readonly perCallerMax: number,
  ) {}

  /** Takes so many bytes for the present caller. @throws Refusal 503 `registry.busy` */
  take(bytes: number): Hold {
    const caller = currentCaller();
    let own = 0;
    let isLeft = false;
    const set = (to: number): void => {
      if (isLeft) return;
      this.#add(caller, to - own);
      own = to;
    };
    const reach = (to: number): void => {
      if (to <= own || isLeft) return;
      if (!this.#hasRoom(caller, to - own)) throw busy();
      set(to);
    };
    const leave = (): void => {
      set(0);
      isLeft = true;
    };
    reach(bytes);
    return {
      ...{ reach, set, leave },
      get bytes() {
        return own;
      },
    };
  }

  #hasRoom(caller: string | undefined, more: number): boolean {
    if (this.#held + more > this.bytesMax) return false;
    return caller === undefined || this.#of(caller) + more <= this.perCallerMax;
  }

  #of(caller: string): number {
    return this.#byCaller.get(caller) ?? 0;
  }

  #add(caller: string | undefined, more: number): void {
    this.#held += more;
    if (caller === undefined) return;
    const held = this.#of(caller) + more;
    if (held > 0) this.#byCaller.set(caller, held);
    else this.#byCaller.delete(caller);
  }
}

function busy(): Refusal {
  const message = "Too much is being fetched from external registries. Try again soon.";
  return new Refusal("unavailable", "registry.busy", message, { retryAfterSeconds });
}
