import { setTimeout as delay } from "node:timers/promises";

import { type EventStore, StoreUnavailable } from "../../platform/event-store/event-store.ts";
import { noteCaughtUp, postgresRun, type Session } from "../../platform/postgres/run.ts";
import { beforeEverything } from "../core/checkpoint.ts";

/** The limit of a wait; after it the caller receives an error and may try again. */
const waitMaxMs = 1_000;
const pollMs = 25;

/** SQLSTATE of a server that does not serve queries yet: the caller answers 503 or tries again. */
const cannotConnectNow = "57P03";

export class ReadModelsBehind extends Error {
  override readonly name = "ReadModelsBehind";
  readonly code = cannotConnectNow;

  constructor() {
    super(
      "The read models have not caught up with the log since PostgreSQL recovered from a crash",
    );
  }
}

export type CaughtUpOptions = Readonly<{
  /** For tests; 1000 by default. */
  waitMaxMs?: number;
}>;

/**
 * A check for new connections. A crash of PostgreSQL takes back the last commits of the read models,
 * so answers from them could be older than what was acknowledged before. The first connections after
 * a crash therefore wait until the live read models have passed the head of the log; later ones find
 * that noted.
 *
 * @returns throws ReadModelsBehind when the read models have not caught up within a second, and
 *   StoreUnavailable when the log does not answer within it
 */
export function mustBeCaughtUp(
  store: Pick<EventStore, "head">,
  options: CaughtUpOptions = {},
): (session: Session) => Promise<void> {
  const limitMs = options.waitMaxMs ?? waitMaxMs;
  return async (session) => {
    const run = await postgresRun(session);
    if (run.caughtUp) return;
    const deadline = performance.now() + limitMs;
    const head = (await headWithin(store, limitMs)) ?? beforeEverything;
    while ((await slowestLive(session)) < head) {
      if (performance.now() > deadline) throw new ReadModelsBehind();
      await delay(pollMs);
    }
    await noteCaughtUp(session, run);
  };
}

async function headWithin(
  store: Pick<EventStore, "head">,
  limitMs: number,
): Promise<bigint | undefined> {
  const ended = new AbortController();
  const late = async (): Promise<never> => {
    await delay(limitMs, undefined, { signal: ended.signal });
    throw new StoreUnavailable("The event store does not say how long the log is");
  };
  try {
    return await Promise.race([store.head(), late()]);
  } finally {
    ended.abort();
  }
}

async function slowestLive(session: Session): Promise<bigint> {
  const { rows } = await session.query<{ position: bigint | null }>(
    "select min(position) as position from public.projection_progress where state = 'live'",
  );
  return rows[0]?.position ?? beforeEverything;
}
