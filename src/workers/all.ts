import type { Reactor } from "./reactor.ts";
import type { Worker } from "./worker.ts";

/** Everything that turns events into jobs, sorted by name. */
export const allReactors: readonly Reactor[] = [];

/** Everything that does jobs, sorted by queue. */
export const allWorkers: readonly Worker[] = [];
