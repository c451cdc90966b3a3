/** What is seen at a tick of the watcher. */
export type Look = Readonly<{
  /** Milliseconds of a monotonic clock. */
  at: number;
  /** Grows with each turn of the loop that is watched. */
  beats: number;
  /** For how long its thread has waited for a processor so far. */
  waitedMs: () => number;
}>;

/**
 * For how long an event loop has stood still, as far as its watcher ran meanwhile: of the time between two ticks no
 * more counts than one tick, since a machine that was stopped stopped the watcher too. Nor does time count in which the
 * thread of the loop was ready and had no processor.
 */
export class StillTime {
  readonly #tickMs: number;
  #at = 0;
  #beats = -1;
  #waitedMs: number | undefined;
  #stillMs = 0;

  constructor(tickMs: number) {
    this.#tickMs = tickMs;
  }

  /** @returns milliseconds */
  tick({ at, beats, waitedMs }: Look): number {
    const passedMs = Math.min(at - this.#at, this.#tickMs);
    this.#at = at;
    if (beats !== this.#beats) {
      this.#beats = beats;
      this.#waitedMs = undefined;
      this.#stillMs = 0;
      return 0;
    }
    const waited = waitedMs();
    this.#stillMs += Math.max(0, passedMs - (waited - (this.#waitedMs ?? waited)));
    this.#waitedMs = waited;
    return this.#stillMs;
  }

  restart(): void {
    this.#beats = -1;
  }
}
