import { CallerShare, currentCaller } from "../../../platform/caller-share.ts";
import { Refusal } from "../../../platform/refusal.ts";

const retryAfterSeconds = 5;

/** Places that nobody waits for: who finds none is told to come again. */
export class Places {
  #free: number;
  readonly #share: CallerShare;

  constructor(placesMax: number, perCallerMax: number) {
    this.#free = placesMax;
    this.#share = new CallerShare(perCallerMax);
  }

  /**
   * Takes a place for the present caller.
   *
   * @returns gives it back; may be called again
   * @throws Refusal 503 `registry.busy`
   */
  take(): () => void {
    const caller = currentCaller();
    if (this.#free === 0 || !this.#share.hasRoom(caller)) throw busy();
    this.#free -= 1;
    this.#share.take(caller);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#free += 1;
      this.#share.giveBack(caller);
    };
  }
}

export function busy(): Refusal {
  const message = "Too much is being fetched from external registries. Try again soon.";
  return new Refusal("unavailable", "registry.busy", message, { retryAfterSeconds });
}
