/** Of a name and a caller together, in UTF-8. */
const textBytesMax = 1_024;
const textAt = 4 * Int32Array.BYTES_PER_ELEMENT;
const [beats, paused, isRunning, textLength] = [0, 1, 2, 3] as const;

/** What the event loop runs: the operation, and on whose behalf. */
export type Running = Readonly<{ name: string; caller: string }>;

/**
 * Memory that the thread of the event loop writes and its watcher reads: a heartbeat, and the operation whose code
 * entered the loop last.
 */
export class OperationMemory {
  readonly shared: SharedArrayBuffer;
  readonly #numbers: Int32Array;
  readonly #text: Buffer;

  constructor(shared = new SharedArrayBuffer(textAt + textBytesMax)) {
    this.shared = shared;
    this.#numbers = new Int32Array(shared, 0, textAt / Int32Array.BYTES_PER_ELEMENT);
    this.#text = Buffer.from(shared, textAt, textBytesMax);
  }

  /** @param mayPause a debugger may stop the loop from now on, which is no fault */
  beat(mayPause: boolean): void {
    Atomics.add(this.#numbers, beats, 1);
    Atomics.store(this.#numbers, paused, Number(mayPause));
  }

  /** Keeps the operation before, for when none runs any more. */
  show(running: Running | undefined): void {
    if (running !== undefined) {
      const text = `${running.name}\n${running.caller}`;
      this.#numbers[textLength] = this.#text.write(text, 0, textBytesMax, "utf8");
    }
    this.#numbers[isRunning] = Number(running !== undefined);
  }

  get beats(): number {
    return Atomics.load(this.#numbers, beats);
  }

  get mayPause(): boolean {
    return Atomics.load(this.#numbers, paused) === 1;
  }

  /** `running` is undefined when the loop runs code of no operation; `last` is the one before. */
  read(): Readonly<{ running: Running | undefined; last: Running | undefined }> {
    const text = this.#text.toString("utf8", 0, this.#numbers[textLength]);
    const [name = "", caller = ""] = text.split("\n");
    const last = text === "" ? undefined : { name, caller };
    return { running: this.#numbers[isRunning] === 1 ? last : undefined, last };
  }
}
