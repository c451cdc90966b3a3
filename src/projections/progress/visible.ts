import type { Knex } from "knex";
import { listen } from "../../platform/postgres.ts";
import { Refusal } from "../../platform/refusal.ts";
import { changedSubject, channel, reread } from "../core/announce.ts";
import { beforeEverything, type CheckpointRow } from "../core/checkpoint.ts";

/**
 * Resolves once every live projection that answers are read from has passed the position, so that later reads
 * see it. At once when there is nothing to wait for.
 *
 * @throws Refusal `projection.lagging` (unavailable) when it takes longer than 5 s: the write
 * itself happened.
 */
export type Visible = (position: bigint | undefined) => Promise<void>;

export type VisibleDeps = Readonly<{
  databaseUrl: string;
  db: Knex;
  /** For tests; 5000 by default. */
  waitMaxMs?: number;
  /** Of the process, where others look for its session; see listenerName. */
  role?: "http";
}>;

/** What the session that listens is called in pg_stat_activity. */
export const listenerName = (role?: VisibleDeps["role"]): string =>
  `listen ${channel}${role === undefined ? "" : ` (${role})`}`;

/**
 * Called with the subject of a change; without one, when anything may have changed unheard, as with a read model that
 * joins the others.
 */
export type OnChange = (subject: string | undefined) => void;

export type Watching = Readonly<{
  visible: Visible;
  /** See announceChange: called before `visible` resolves for the change's position. */
  onChange: (listener: OnChange) => void;
  /** Called whenever the read models have passed a further position. */
  onPosition: (listener: (position: bigint) => void) => void;
  close: () => Promise<void>;
}>;

const waitMaxMsDefault = 5_000;
/** A caller that waits longer than a notification takes reads the positions from the database. */
const lookMs = 250;

/** Watches how far the read models are. One a process: all its requests wait on one connection. */
export async function watchProjections(deps: VisibleDeps): Promise<Watching> {
  const { databaseUrl, db, waitMaxMs = waitMaxMsDefault, role } = deps;
  const closing = new AbortController();
  const waiters = new Set<Waiter>();
  const listeners: OnChange[] = [];
  const followers: ((position: bigint) => void)[] = [];
  let reached = beforeEverything;
  let watch: NodeJS.Timeout | undefined;

  const advance = (position: bigint): void => {
    if (position > reached) followers.forEach((follow) => void follow(position));
    if (position > reached) reached = position;
    for (const waiter of waiters) if (waiter.position <= reached) waiter.settle();
  };
  const notify: OnChange = (subject) => listeners.forEach((listener) => void listener(subject));
  /** A position that was not heard of but read: changes on the way to it may not be heard of yet. */
  const seen = (position: bigint): void => {
    if (position !== reached) notify(undefined);
    advance(position);
  };
  const look = oneAtATime(() => furthestOfAll(db).then(seen, () => undefined));
  const hear = (payload: string): void => {
    if (/^\d+$/.test(payload)) advance(BigInt(payload));
    else notify(changedSubject(payload));
    if (payload === reread) void look.start();
  };
  /** A crash of Postgres may have taken positions back that were heard of before it. */
  const relearn = (): void => {
    reached = beforeEverything;
    notify(undefined);
    void look.start();
  };

  const visible = async (position: bigint | undefined): Promise<void> => {
    if (position === undefined || position <= reached) return;
    watch ??= setInterval(() => void look.start(), lookMs);
    const passed = await new Promise<boolean>((resolve) => {
      const settle = (): void => finish(position <= reached);
      const timer = setTimeout(settle, waitMaxMs);
      const waiter: Waiter = { position, settle };
      const finish = (done: boolean): void => {
        clearTimeout(timer);
        waiters.delete(waiter);
        resolve(done);
      };
      waiters.add(waiter);
      if (closing.signal.aborted) settle();
    });
    if (waiters.size === 0) {
      clearInterval(watch);
      watch = undefined;
    }
    if (!passed) throw lagging();
  };

  const name = listenerName(role);
  await listen({ url: databaseUrl, channel, name }, hear, closing.signal, relearn);
  return {
    visible,
    onChange: (listener) => void listeners.push(listener),
    onPosition: (listener) => void followers.push(listener),
    async close() {
      closing.abort();
      for (const waiter of waiters) waiter.settle();
      // The caller destroys the pool next, which must not happen under a query.
      await look.ended();
    },
  };
}

/** A start while a run is under way joins that run. */
function oneAtATime(run: () => Promise<void>) {
  let running: Promise<void> | undefined;
  return {
    start(): Promise<void> {
      running ??= run().finally(() => {
        running = undefined;
      });
      return running;
    },
    ended: async (): Promise<void> => running,
  };
}

/** Settling checks how far the read models are: passed, or waited in vain. */
type Waiter = Readonly<{ position: bigint; settle: () => void }>;

async function furthestOfAll(db: Knex): Promise<bigint> {
  const row = await db<CheckpointRow>("projection_progress")
    .where({ state: "live" })
    .min<{ min: bigint | null }>("position")
    .first();
  return row?.min ?? beforeEverything;
}

const stillLagging = (message: string): Refusal =>
  new Refusal("unavailable", "projection.lagging", message, { retryAfterSeconds: 1 });

const lagging = (): Refusal =>
  stillLagging("The change was made, but does not show yet. Try again in a moment.");

/**
 * Waits as `visible` does, for a caller that has changed nothing.
 *
 * @throws Refusal `projection.lagging`
 */
export async function untilVisible(visible: Visible, position: bigint | undefined): Promise<void> {
  try {
    await visible(position);
  } catch (error) {
    throw error instanceof Refusal && error.code === lagging().code ? behind() : error;
  }
}

/** The refusal for a caller that has changed nothing. */
export const behind = (): Refusal =>
  stillLagging("What happened last does not show yet. Try again in a moment.");
