type Entry<Value> = Readonly<{ value: Value; bytes: number }>;

/** Least recently used entries go first once the sum of their sizes passes the bound. */
export class Lru<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  #bytes = 0;

  constructor(readonly bytesMax: number) {}

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // A Map iterates in insertion order: moving to the end marks the entry as used.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: Value, bytes: number): void {
    this.delete(key);
    // One entry may not push everything else out.
    if (bytes > this.bytesMax / 8) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.bytesMax) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }

  /** Forgets every key that starts with the prefix. */
  deletePrefix(prefix: string): void {
    for (const key of [...this.#entries.keys()]) {
      if (key.startsWith(prefix)) this.delete(key);
    }
  }
}
