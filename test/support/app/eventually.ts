import { setTimeout as delay } from "node:timers/promises";

/** Between two looks: longer the longer it was waited, as a look may be a request that is work for all. */
const pauseMs = { least: 10, most: 100, perWaitedMs: 0.02 } as const;

/** Waits until the condition holds; fails with its last error, or with what it gave, after the limit. */
export async function eventually<Value>(
  condition: () => Value | Promise<Value>,
  limitMs = 30_000,
): Promise<Value> {
  const began = performance.now();
  for (;;) {
    const value = await Promise.resolve()
      .then(condition)
      .then((result) => ({ result, error: undefined }))
      .catch((error: unknown) => ({ result: undefined, error }));
    if (value.error === undefined && value.result) return value.result;
    const waited = performance.now() - began;
    if (waited > limitMs) {
      throw value.error ?? new Error(`Not so within ${limitMs} ms: ${String(value.result)}`);
    }
    await delay(Math.min(pauseMs.most, pauseMs.least + waited * pauseMs.perWaitedMs));
  }
}
