import { setTimeout as delay } from "node:timers/promises";

/** Waits until the condition holds; fails with its last error, or with what it gave, after the limit. */
export async function eventually<Value>(
  condition: () => Value | Promise<Value>,
  limitMs = 30_000,
): Promise<Value> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = await Promise.resolve()
      .then(condition)
      .then((result) => ({ result, error: undefined }))
      .catch((error: unknown) => ({ result: undefined, error }));
    if (value.error === undefined && value.result) return value.result;
    if (performance.now() > deadline) {
      throw value.error ?? new Error(`Not so within ${limitMs} ms: ${String(value.result)}`);
    }
    await delay(10);
  }
}
