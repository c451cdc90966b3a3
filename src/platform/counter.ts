import pg from "pg";
import { RateLimiterPostgres, RateLimiterRedis } from "rate-limiter-flexible";

export type Counted = Readonly<{ count: number; resetMs: number }>;

/** Counts in windows of time, atomically, shared by every process of the instance. */
export type Counters = Readonly<{
  /** Counts one more. A key's window begins with its first count and is this long. */
  add: (key: string, windowSeconds: number) => Promise<Counted>;
  /** What was counted in a window that has not ended. */
  get: (key: string) => Promise<Counted | undefined>;
  /** Begins a new window with this count. */
  set: (key: string, count: number, windowSeconds: number) => Promise<void>;
  delete: (key: string) => Promise<void>;
  close: () => Promise<void>;
}>;

export type CounterOptions = Readonly<{ databaseUrl: string; redisUrl?: string | undefined }>;

const poolMax = 4;
const connectTimeoutMs = 5_000;
/** The limits are the callers', and change with the settings: the library only counts. */
const points = 2 ** 31 - 1;

export async function openCounters({ databaseUrl, redisUrl }: CounterOptions): Promise<Counters> {
  return redisUrl === undefined ? onPostgres(databaseUrl) : await onRedis(redisUrl);
}

function onPostgres(connectionString: string): Counters {
  // A pool of its own: the library calculates with int8 as text, which the others read as bigint.
  const pool = new pg.Pool({
    connectionString,
    max: poolMax,
    application_name: "counters",
    connectionTimeoutMillis: connectTimeoutMs,
  });
  pool.on("error", () => undefined);
  const limiter = new RateLimiterPostgres({
    storeClient: pool,
    storeType: "pool",
    schemaName: "public",
    tableName: "counter",
    tableCreated: true,
    points,
    duration: 1,
    keyPrefix: "",
  });
  return countersOn(limiter, () => pool.end());
}

async function onRedis(url: string): Promise<Counters> {
  // Its client is large, and not every instance has one.
  const { Redis } = await import("ioredis");
  const client = new Redis(url, { enableOfflineQueue: true, maxRetriesPerRequest: 2 });
  client.on("error", () => undefined);
  const limiter = new RateLimiterRedis({
    storeClient: client,
    points,
    duration: 1,
    keyPrefix: "ledgerforge-counter",
  });
  return countersOn(limiter, async () => {
    await client.quit().catch(() => client.disconnect());
  });
}

function countersOn(
  limiter: RateLimiterPostgres | RateLimiterRedis,
  close: () => Promise<void>,
): Counters {
  return {
    async add(key, windowSeconds) {
      const result = await limiter.penalty(key, 1, { customDuration: windowSeconds });
      return { count: result.consumedPoints, resetMs: result.msBeforeNext };
    },
    async get(key) {
      const result = await limiter.get(key);
      if (result === null || result.msBeforeNext <= 0) return undefined;
      return { count: result.consumedPoints, resetMs: result.msBeforeNext };
    },
    async set(key, count, windowSeconds) {
      await limiter.set(key, count, windowSeconds);
    },
    async delete(key) {
      await limiter.delete(key);
    },
    close,
  };
}
