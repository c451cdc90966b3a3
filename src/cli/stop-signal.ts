import { once } from "node:events";

export type StopSignal = Readonly<{
  signal: AbortSignal;
  /** Resolves when the process is requested to stop. */
  stopped: Promise<void>;
}>;

/**
 * Aborts when the process is requested to stop: by a signal, or because the process that started it,
 * and holds the other end of the channel, is gone. From then on the process has `limitMs` left.
 */
export function stopSignal(limitMs: number): StopSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) return;
    controller.abort();
    setTimeout(() => process.exit(1), limitMs).unref();
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, stop);
  process.on("disconnect", stop);
  const stopped = once(controller.signal, "abort").then(() => undefined);
  return { signal: controller.signal, stopped };
}
