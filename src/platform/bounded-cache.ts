import { LRUCache } from "lru-cache";

/** One entry takes at most this part of most caches, so that it does not evict most others. */
const entryShare = 8;

/** A cache that evicts the least recently used entries once the sum of their sizes passes the bound. */
export class BoundedCache<Value extends NonNullable<unknown>> {
  readonly #entries: LRUCache<string, Value>;

  /** @param share one entry takes at most this part of it: 1 for all of it */
  constructor(bytesMax: number, share = entryShare) {
    const maxEntrySize = Math.max(1, Math.floor(bytesMax / share));
    this.#entries = new LRUCache({ maxSize: bytesMax, maxEntrySize });
  }

  get bytes(): number {
    return this.#entries.calculatedSize;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: Value, bytes: number): void {
    this.#entries.set(key, value, { size: Math.max(1, Math.ceil(bytes)) });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
