import type { Recorded } from "../../events/core/event.ts";
import type { Job } from "../../platform/queue/queue.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

/**
 * Turns events into jobs (and, where order matters, into further events). It is called for every
 * event of its types in the order of the log, again after a crash, so what it names must be named
 * after the event: job ids, command ids.
 */
export type Reactor = Readonly<{
  /** Kebab case; key of its checkpoint. */
  name: string;
  types: ReadonlySet<string>;
  react: (event: Recorded, deps: WorkerDeps) => Promise<readonly Job[]>;
  /** In its place, where events that come together are reacted to in one go; in order, and again. */
  reactAll?: (events: readonly Recorded[], deps: WorkerDeps) => Promise<readonly Job[]>;
  /**
   * What a job is for, where doing a later one for the same makes an earlier one superfluous: of those
   * of events that come together, the last is added alone.
   */
  coveredBy?: (job: Job) => string;
  /** So long an event waits for others to come together with, where nobody waits for what follows. */
  batchMs?: number;
}>;
