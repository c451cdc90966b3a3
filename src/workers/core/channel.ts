/**
 * A bounded line between one sender and one receiver: sending waits while it is full, so a slow
 * receiver slows the sender instead of filling the memory.
 */
export class Channel<Value> {
  readonly #values: Value[] = [];
  readonly #capacity: number;
  #wakeSender: () => void = () => undefined;
  #wakeReceiver: () => void = () => undefined;
  #closed = false;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Resolves when the value has a place; nothing is kept once closed. */
  async send(value: Value): Promise<void> {
    while (this.#values.length >= this.#capacity && !this.#closed) {
      await new Promise<void>((resolve) => {
        this.#wakeSender = resolve;
      });
    }
    if (this.#closed) return;
    this.#values.push(value);
    this.#wakeReceiver();
  }

  /** What waits now beside what was received, at most so many. */
  take(countMax: number): readonly Value[] {
    if (this.#closed) return [];
    const values = this.#values.splice(0, countMax);
    this.#wakeSender();
    return values;
  }

  /** Resolves when so many wait, after the time at the latest, and at once when closed. */
  async filled(count: number, waitMaxMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMaxMs);
      this.#wakeReceiver = () => {
        if (this.#values.length < count && !this.#closed) return;
        clearTimeout(timer);
        resolve();
      };
      this.#wakeReceiver();
    });
  }

  /** The receiver gets nothing more, also of what was sent already. */
  close(): void {
    this.#closed = true;
    this.#wakeSender();
    this.#wakeReceiver();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Value> {
    while (!this.#closed) {
      const [value] = this.#values.splice(0, 1);
      if (value !== undefined) {
        this.#wakeSender();
        yield value;
      } else {
        await new Promise<void>((resolve) => {
          this.#wakeReceiver = resolve;
        });
      }
    }
  }
}
