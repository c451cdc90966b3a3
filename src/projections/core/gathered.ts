import { setTimeout as delay } from "node:timers/promises";
import type { Knex } from "knex";
import { beforeEverything, type CheckpointRow } from "./checkpoint.ts";
import { lagging } from "./visible.ts";

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
  const deadline = performance.now() + waitMaxMs;
  let rows = await progress(db);
  const target = least(rows.filter((row) => row.feed === "answers" && isLive(row)));
  for (let pauseMs = pollMinMs; ; pauseMs = Math.min(pauseMs * 2, pollMaxMs)) {
    const gathered = rows.filter(({ feed }) => feed === "gathered");
    if (!gathered.every(isLive)) throw lagging();
    if (least(gathered) >= target) return;
    if (performance.now() > deadline) throw lagging();
    await delay(pauseMs);
    rows = await progress(db);
  }
}

type Progress = Pick<CheckpointRow, "feed" | "state" | "position">;

const progress = (db: Knex): Promise<Progress[]> =>
  db<CheckpointRow>("projection_progress").select<Progress[]>("feed", "state", "position");

const isLive = ({ state }: Progress): boolean => state === "live";

const least = (rows: readonly Progress[]): bigint =>
  rows.reduce<bigint | undefined>(
    (least, { position }) => (least === undefined || position < least ? position : least),
    undefined,
  ) ?? beforeEverything;
