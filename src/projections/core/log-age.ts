import { setTimeout as delay } from "node:timers/promises";
import type { Knex } from "knex";

import type { EventStore } from "../../platform/event-store/event-store.ts";
import { beforeEverything, type CheckpointRow, stopWhere } from "./checkpoint.ts";
import type { Log } from "./feed.ts";

/** A log that is being restored gets there by itself. */
const lookMs = 5_000;

type LogAgeDeps = Readonly<{ db: Knex; store: Pick<EventStore, "end">; log: Log }>;

/** The log ends before something that was made from it: it was restored from an older backup. */
class LogTooOld extends Error {
  override readonly name = "LogTooOld";

  constructor(end: bigint, reached: bigint) {
    super(
      `The log ends at position ${end}, but position ${reached} has been read: it is older than what was ` +
        "made from it. Restore a newer log, or go on with this one by `ledgerforge rebuild`",
    );
  }
}

/** @throws LogTooOld when the log ends before the position */
export async function mustReach(store: Pick<EventStore, "end">, reached: bigint): Promise<void> {
  if (reached === beforeEverything) return;
  const end = (await store.end()) ?? beforeEverything;
  if (end < reached) throw new LogTooOld(end, reached);
}

/**
 * Waits until no read model is ahead of the log: new events would come at positions that count as read.
 * Meanwhile all of them are `failed`, which turns readiness red.
 */
export async function untilLogReaches(
  { db, store, log }: LogAgeDeps,
  signal: AbortSignal,
): Promise<void> {
  for (let reported = false; !signal.aborted; reported = true) {
    try {
      return await mustReach(store, await furthest(db));
    } catch (error) {
      if (!(error instanceof LogTooOld)) throw error;
      const failure = error.message;
      await stopWhere(db, {}, failure);
      if (!reported) log.error({ failure }, "read models stopped");
      await delay(lookMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function furthest(db: Knex): Promise<bigint> {
  const row = await db<CheckpointRow>("projection_progress")
    .max<{ max: bigint | null }>("position")
    .first();
  return row?.max ?? beforeEverything;
}
