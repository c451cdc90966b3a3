import { setTimeout as sleep } from "node:timers/promises";

import { type Order, type Outcome, type Plan, planBatch, type Written } from "./batch.ts";
import { StoreFailure, unavailable } from "./failure.ts";
import { OrderQueue, type Pending } from "./order-queue.ts";
import { RecentPlaces } from "./recent-places.ts";
import { StreamHeads } from "./stream-heads.ts";
import { Tail } from "./tail.ts";
import { allTopic, Topics } from "./topics.ts";
import { openWriteSession, recentPlacesMax, type WriteSession } from "./write-session.ts";

const reconnectDelayMsMax = 2_000;

/** How long a batch that is being written may hold up the end. */
const closeMsMax = 5_000;

export type WriterOptions = Readonly<{
  databaseUrl: string;
  lockWaitMs: number;
  /** Called at each outage; its end is not awaited. */
  onOutage: (error: unknown) => void;
}>;

/**
 * The only writer of the log: a loop that takes all orders waiting, decides them, writes their
 * events in one transaction (one flush of the disk for all of them) and answers. Positions are
 * given out here and nowhere else, so their order is the order of commits and a reader that
 * remembers the last position it saw misses nothing.
 *
 * When a batch fails its outcome is unknown: everything remembered is dropped and read again over a
 * new connection, which cannot get the writer lock before the old one is gone for good.
 */
export class Writer {
  readonly heads = new StreamHeads();
  readonly tail = new Tail();
  readonly topics = new Topics();
  readonly #options: WriterOptions;
  readonly #recent = new RecentPlaces(recentPlacesMax);
  readonly #queue = new OrderQueue();
  readonly #closing = new AbortController();
  #session: WriteSession | undefined;
  #running: Promise<void> | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Connects for the first time. @throws when the database or the writer lock cannot be had. */
  async open(): Promise<void> {
    await this.#connect();
  }

  /** @throws StoreFailure */
  write(order: Order, deadline: number): Promise<Written> {
    if (this.#closing.signal.aborted) throw unavailable("The event store is shutting down");
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome): void => {
        if (outcome instanceof StoreFailure) reject(outcome);
        else resolve(outcome);
      };
      this.#queue.push(order, deadline, settle);
      this.#running ??= this.#run();
    });
  }

  get #connected(): boolean {
    return this.#session !== undefined && !this.#session.lost.aborted;
  }

  /** Finishes the batch being written, refuses the rest. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#refuse(this.#queue.takeAll(), "The event store is shutting down");
    await Promise.race([this.#running, sleep(closeMsMax, undefined, { ref: false })]);
    if (this.#session !== undefined) await this.#giveUp(this.#session);
  }

  async #run(): Promise<void> {
    // A turn of the event loop lets orders that arrived together be written together.
    await new Promise(setImmediate);
    while (!this.#queue.isEmpty || !this.#connected) {
      const session = await this.#ready();
      if (session === undefined) break;
      const batch = this.#queue.takeBatch();
      if (batch.length > 0) await this.#writeBatch(session, batch);
    }
    this.#running = undefined;
  }

  async #writeBatch(session: WriteSession, batch: readonly Pending[]): Promise<void> {
    let plan: Plan;
    try {
      const orders = batch.map((pending) => pending.order);
      const { heads, tail } = this;
      const known = { db: session.db, heads, recent: this.#recent, head: tail.head };
      plan = await planBatch(orders, known);
      if (plan.events.length > 0) await session.insert(plan.events);
    } catch (error) {
      await this.#giveUp(session);
      this.#options.onOutage(error);
      const reason = error instanceof Error ? error.message : String(error);
      // Those still in the queue are refused too: they may count on what this batch would have
      // stored, and a client that receives one failure gives up all its appends on the same call.
      this.#refuse([...batch, ...this.#queue.takeAll()], `The event store cannot write: ${reason}`);
      return;
    }
    this.#keep(plan);
    for (const [index, pending] of batch.entries()) {
      pending.settle(plan.outcomes[index] ?? unavailable("No outcome"));
    }
  }

  /** What was just committed becomes known, in commit order, and subscriptions are woken. */
  #keep(plan: Plan): void {
    for (const [stream, head] of plan.heads) this.heads.set(stream, head);
    if (plan.events.length === 0) return;
    const streams = new Set<string>();
    for (const event of plan.events) {
      this.tail.push(event);
      const { stream, id, revision, position } = event;
      this.#recent.add({ stream, id, revision, position });
      streams.add(stream);
    }
    for (const stream of streams) this.topics.wake(stream);
    this.topics.wake(allTopic);
  }

  #refuse(pending: readonly Pending[], message: string): void {
    for (const { settle } of pending) settle(unavailable(message));
  }

  /** The connection to write with, made anew as often as needed; undefined when closing. */
  async #ready(): Promise<WriteSession | undefined> {
    for (let delayMs = 50; !this.#closing.signal.aborted; delayMs *= 2) {
      if (this.#session !== undefined && this.#connected) return this.#session;
      try {
        if (this.#session !== undefined) await this.#giveUp(this.#session);
        return await this.#connect();
      } catch (error) {
        if (this.#closing.signal.aborted) break;
        this.#options.onOutage(error);
        this.#queue.dropLate();
        const { signal } = this.#closing;
        await sleep(Math.min(delayMs, reconnectDelayMsMax), undefined, { signal }).catch(() => {});
      }
    }
    return undefined;
  }

  async #connect(): Promise<WriteSession> {
    const { databaseUrl, lockWaitMs } = this.#options;
    const session = await openWriteSession(databaseUrl, lockWaitMs, this.#closing.signal);
    this.#session = session;
    // At once, not at the next order: subscriptions wait for what a lost batch committed after all.
    session.lost.addEventListener("abort", () => {
      if (!this.#closing.signal.aborted) this.#running ??= this.#run();
    });
    this.tail.reset(session.head);
    this.#recent.clear();
    for (const place of session.recent) this.#recent.add(place);
    this.topics.wakeAll();
    return session;
  }

  async #giveUp(session: WriteSession): Promise<void> {
    this.#session = undefined;
    this.heads.clear();
    // A connection that hangs may never say goodbye.
    const limit = sleep(1_000, undefined, { ref: false });
    await Promise.race([session.close().catch(() => undefined), limit]);
  }
}
