import { BoundedCache } from "../platform/bounded-cache.ts";

/** Rough cost of an entry in memory beyond its key and value. */
const overheadBytes = 120;

/**
 * A bounded cache of answers that follow from object ids alone and so stay true: nothing but its size
 * evicts them. Concurrent requests for one key share one computation; a failure is not kept.
 */
export class Answers<Value> {
  readonly #cache: BoundedCache<Readonly<{ value: Value }>>;
  readonly #underWay = new Map<string, Promise<Value>>();

  constructor(
    bytesMax: number,
    readonly bytesOf: (value: Value) => number,
    share?: number,
  ) {
    this.#cache = new BoundedCache(bytesMax, share);
  }

  peek(key: string): Value | undefined {
    return this.#cache.get(key)?.value;
  }

  async get(key: string, find: () => Promise<Value>): Promise<Value> {
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached.value;
    const running = this.#underWay.get(key);
    if (running !== undefined) return running;
    const finding = find().finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, finding);
    const value = await finding;
    this.keep(key, value);
    return value;
  }

  keep(key: string, value: Value): void {
    this.#cache.set(key, { value }, 2 * key.length + this.bytesOf(value) + overheadBytes);
  }
}
