import { LRUCache } from "lru-cache";

export type CachedQuery<Value> = Readonly<{
  /** From memory, or loaded. What is not there is looked for again each time. */
  get: (key: string) => Promise<Value | undefined>;
  /** Drops what the condition holds for, or everything; loads under way are not kept either. */
  forget: (which?: (value: Value) => boolean) => void;
}>;

export type CachedQueryOptions<Value> = Readonly<{
  entriesMax?: number;
  lifeMs?: number;
  /** What is not kept is loaded each time, as what is not there is. */
  keeps?: (value: Value) => boolean;
}>;

/**
 * How long a copy may outlive a change whose announcement was lost with its connection: what is revoked
 * elsewhere is so here within a second.
 */
const lifeMsDefault = 500;
const entriesMaxDefault = 10_000;

type Entry<Value> = Readonly<{ value: Value; until: number }>;

/** A bounded cache in front of a query that every request needs. Concurrent queries of one key load once. */
export function cachedQuery<Value>(
  load: (key: string) => Promise<Value | undefined>,
  options: CachedQueryOptions<Value> = {},
): CachedQuery<Value> {
  const { entriesMax = entriesMaxDefault, lifeMs = lifeMsDefault, keeps = () => true } = options;
  const entries = new LRUCache<string, Entry<Value>>({ max: entriesMax });
  let loading = new Map<string, Promise<Value | undefined>>();

  async function fetch(key: string): Promise<Value | undefined> {
    // The copy is as old as the question, not as the answer.
    const until = performance.now() + lifeMs;
    const under = loading;
    try {
      const value = await load(key);
      // A change since then has begun a new table of loads: this one may have read what was before.
      const isCached = value !== undefined && keeps(value);
      if (isCached && under === loading) entries.set(key, { value, until });
      return value;
    } finally {
      under.delete(key);
    }
  }

  return {
    async get(key) {
      const entry = entries.get(key);
      if (entry !== undefined && entry.until > performance.now()) return entry.value;
      const running = loading.get(key);
      if (running !== undefined) return await running;
      const started = fetch(key);
      loading.set(key, started);
      return await started;
    },
    forget(which) {
      loading = new Map();
      if (which === undefined) return entries.clear();
      for (const [key, { value }] of entries) if (which(value)) entries.delete(key);
    },
  };
}
