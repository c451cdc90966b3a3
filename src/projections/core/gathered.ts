import { setTimeout as delay } from "node:timers/promises";
import type { Knex } from "knex";
import type { FeedName } from "./checkpoint.ts";
import { lagging } from "./visible.ts";

const waitMaxMsDefault = 5_000;
const pollMs = 10;

/**
 * Resolves once the gathered read models show everything that answers show now, so that who reads them finds what
 * was acknowledged before.
 *
 * @throws Refusal `projection.lagging` (unavailable) when it takes longer than 5 s
 */
export async function untilGathered(db: Knex, waitMaxMs = waitMaxMsDefault): Promise<void> {
  const deadline = performance.now() + waitMaxMs;
  const { answers } = await positions(db);
  while ((await positions(db)).gathered < answers) {
    if (performance.now() > deadline) throw lagging();
    await delay(pollMs);
  }
}

async function positions(db: Knex): Promise<Readonly<Record<FeedName, bigint>>> {
  const rows = await db<{ name: FeedName; position: bigint }>("projection_feed").select("*");
  const of = (feed: FeedName) => rows.find(({ name }) => name === feed)?.position ?? -1n;
  return { answers: of("answers"), gathered: of("gathered") };
}
