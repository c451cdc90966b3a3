import { setTimeout as delay } from "node:timers/promises";
import type { Knex } from "knex";
import { sqlState } from "../../platform/postgres-error.ts";
import { beforeEverything } from "./checkpoint.ts";
import { behind } from "./visible.ts";

const undefinedColumn = "42703";
const waitMaxMsDefault = 5_000;
const [pollMinMs, pollMaxMs] = [10, 250];

/**
 * Resolves once the gathered read models show everything that answers show now, so that who reads them finds what
 * was acknowledged before.
 *
 * @throws Refusal `projection.lagging` (unavailable) when one of them has stopped or is being built, or when it
 * takes longer than 5 s
 */
export async function untilGathered(db: Knex, waitMaxMs = waitMaxMsDefault): Promise<void> {
  await gathered(db, { text: "select", bindings: [] }, waitMaxMs);
}

/** A statement that gives one row. */
export type OneRow = Readonly<{ text: string; bindings: readonly Knex.RawBinding[] }>;

/**
 * Reads gathered read models once they show everything that answers show now: by one statement where they do.
 *
 * @throws Refusal `projection.lagging` as `untilGathered`
 */
export async function gathered<Row extends object>(
  db: Knex,
  { text, bindings }: OneRow,
  waitMaxMs = waitMaxMsDefault,
): Promise<Row> {
  const read = async (): Promise<Progress & Row> => {
    const both = `select * from (${progress}) as progress cross join lateral (${text}) as answer`;
    try {
      const { rows } = await db.raw<{ rows: [Progress & Row] }>(both, [...bindings]);
      return rows[0];
    } catch (error) {
      // While they are built, the tables are those of an earlier version.
      if (sqlState(error) === undefinedColumn) await untilGathered(db, 0);
      throw error;
    }
  };
  const deadline = performance.now() + waitMaxMs;
  let now = await read();
  const target = now.answers ?? beforeEverything;
  for (let pauseMs = pollMinMs; ; pauseMs = Math.min(pauseMs * 2, pollMaxMs)) {
    if (!now.isLive) throw behind();
    if ((now.gathered ?? beforeEverything) >= target) return now;
    if (performance.now() > deadline) throw behind();
    await delay(pauseMs);
    now = await read();
  }
}

/** Where the last of the live read models of answers is, and the last of the gathered ones. */
type Progress = Readonly<{ answers: bigint | null; gathered: bigint | null; isLive: boolean }>;

const progress = `
  select min(position) filter (where feed = 'answers' and state = 'live') as answers,
    min(position) filter (where feed = 'gathered') as gathered,
    coalesce(bool_and(state = 'live') filter (where feed = 'gathered'), true) as "isLive"
  from projection_progress`;
