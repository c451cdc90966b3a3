import { ByteBudget } from "./byte-budget.ts";

/** Slots that requests do not wait for: who finds none is sent away for a moment. */
export class Slots {
  readonly #budget: ByteBudget;

  constructor(slotsMax: number, perCallerMax: number) {
    this.#budget = new ByteBudget(slotsMax, perCallerMax);
  }

  /**
   * Takes a slot for the present caller.
   *
   * @returns gives it back; may be called again
   * @throws Refusal 503 `registry.busy`
   */
  take(): () => void {
    return this.#budget.take(1).leave;
  }
}
