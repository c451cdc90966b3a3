import { Limit } from "../../platform/limit.ts";
import type { RunningJob } from "../../platform/queue/queue.ts";

/** What is put back comes again by itself after so long; its process may have died. */
const comesAgainMs = 5_000;
/** So much later for each job before it, or thousands would come at once, each time in vain. */
const apartMs = 20;

/**
 * What comes by itself so soon is not recalled: on PostgreSQL BullMQ promotes a job without a look at whether a worker
 * takes it in that moment, and it would run twice at once.
 */
const nearlyDueMs = 1_000;

type PutBack = Readonly<{ done: Promise<void>; dueAt: number }>;

export type JobsByOwnerOptions = Readonly<{
  queue: string;
  concurrency: number;
  /** Lets a job that was put back begin before its time. */
  recall: (id: string) => Promise<void>;
}>;

/**
 * Of the jobs that a worker runs at once, the share of one owner is half. What is beyond it is put back into the queue,
 * where it outlives the process and takes no place of others; one of them is recalled when a job of its owner ends.
 */
export class JobsByOwner {
  readonly #places: Limit;
  readonly #recall: JobsByOwnerOptions["recall"];
  /** Ids by owner, in their order, with what resolves once the job is in the queue again, and when it comes by itself. */
  readonly #putBack = new Map<string, Map<string, PutBack>>();

  constructor({ queue, concurrency, recall }: JobsByOwnerOptions) {
    this.#places = new Limit({ name: `jobs.${queue}`, total: concurrency, whenFull: "refuse" });
    this.#recall = recall;
  }

  /** Runs the job, or puts it back when its owner has no place for it. */
  async run(owner: string, job: RunningJob, task: () => Promise<void>): Promise<void> {
    this.#forget(owner, job.id);
    const place = this.#places.tryTake({ caller: owner });
    if (place === undefined) return await this.#return(owner, job);
    try {
      await task();
    } finally {
      place.leave();
      void this.#recallNext(owner);
    }
  }

  async #return(owner: string, { id, putBack }: RunningJob): Promise<void> {
    const others = this.#putBack.get(owner) ?? new Map<string, PutBack>();
    this.#putBack.set(owner, others);
    const afterMs = comesAgainMs + others.size * apartMs;
    const done = putBack(afterMs);
    others.set(id, { done, dueAt: performance.now() + afterMs });
    await done;
  }

  async #recallNext(owner: string): Promise<void> {
    for (const [id, { done, dueAt }] of this.#putBack.get(owner) ?? []) {
      this.#forget(owner, id);
      if (dueAt - performance.now() < nearlyDueMs) continue;
      const isRecalled = await done
        .then(() => this.#recall(id))
        .then(
          () => true,
          // Another process runs it, or the queue cannot be reached: then it comes by itself.
          () => false,
        );
      if (isRecalled) return;
    }
  }

  #forget(owner: string, id: string): void {
    const others = this.#putBack.get(owner);
    others?.delete(id);
    if (others?.size === 0) this.#putBack.delete(owner);
  }
}
