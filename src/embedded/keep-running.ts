import { setTimeout as delay } from "node:timers/promises";

import { ConfigError } from "../config.ts";

/** Something with a life of its own that should not end before it is closed. */
export type Running = Readonly<{ exited: Promise<void>; close: () => Promise<void> }>;

export type KeepOptions<R extends Running> = Readonly<{
  name: string;
  /** Given what ran before, so that it can come back at the same address. */
  start: (previous: R | undefined) => Promise<R>;
  /** Receives messages for the person at the terminal. */
  report: (text: string) => void;
  backoff?: Backoff;
}>;

export type Backoff = Readonly<{
  /** Pause before the first restart; doubled each time. */
  minMs: number;
  maxMs: number;
  /** Starts in a row that fail, after which it is given up. */
  failuresMax: number;
  /** The same for the first start, where a person waits and the cause is mostly their own mistake. */
  firstFailuresMax: number;
  /** Having run this long, it counts as sound again. */
  soundMs: number;
}>;

const backoffDefault: Backoff = {
  minMs: 100,
  maxMs: 5_000,
  failuresMax: 8,
  firstFailuresMax: 3,
  soundMs: 30_000,
};

export type Kept<R extends Running> = Readonly<{
  /** What runs at present. */
  current: () => R;
  /** Rejects when it was given up; never resolves. */
  givenUp: Promise<never>;
  close: () => Promise<void>;
}>;

/**
 * Starts it and starts it again whenever it ends by itself, after a pause that grows with every
 * failure in a row. It is given up when it does not come up any more, never while it comes back.
 *
 * @throws Error of the last try when it does not come up the first time.
 */
export async function keepRunning<R extends Running>(options: KeepOptions<R>): Promise<Kept<R>> {
  const { name, report, backoff = backoffDefault } = options;
  const closing = new AbortController();
  /** In a row; the pause grows with them. */
  let failures = 0;

  const startUntilUp = async (previous: R | undefined): Promise<R> => {
    for (let failedStarts = 1; ; failedStarts += 1) {
      try {
        return await options.start(previous);
      } catch (error) {
        failures += 1;
        const max = previous === undefined ? backoff.firstFailuresMax : backoff.failuresMax;
        const isConfig = previous === undefined && error instanceof ConfigError;
        const isFinal = isConfig || failedStarts >= max;
        if (isFinal || closing.signal.aborted) throw error;
        await pause(failures, backoff, closing.signal);
      }
    }
  };

  let current = await startUntilUp(undefined);
  failures = 0;
  let startedAt = performance.now();

  const keep = async (): Promise<void> => {
    for (;;) {
      await current.exited;
      if (closing.signal.aborted) return;
      if (performance.now() - startedAt > backoff.soundMs) failures = 0;
      failures += 1;
      report(`${name} ended, starting it again`);
      await pause(failures, backoff, closing.signal);
      if (closing.signal.aborted) return;
      current = await startUntilUp(current);
      // `close` waits for this, and then closes what has come up.
      if (closing.signal.aborted) return;
      startedAt = performance.now();
      report(`${name} runs again`);
    }
  };
  const keeping = keep();

  return {
    current: () => current,
    givenUp: keeping.then(() => new Promise<never>(() => undefined)),
    async close() {
      closing.abort();
      await current.close();
      await keeping.catch(() => undefined);
      // A restart may have been under way when the first one was closed.
      await current.close();
    },
  };
}

async function pause(failures: number, backoff: Backoff, signal: AbortSignal): Promise<void> {
  const pauseMs = Math.min(backoff.minMs * 2 ** (failures - 1), backoff.maxMs);
  await delay(pauseMs, undefined, { signal }).catch(() => undefined);
}
