import type { Knex } from "knex";
import { batches } from "./batch.ts";
import { type CatchUpDeps, tend } from "./catch-up.ts";
import {
  beforeEverything,
  lockFeed,
  readCheckpoints,
  type StoredCheckpoint,
} from "./checkpoint.ts";
import { feed } from "./feed.ts";
import { install } from "./install.ts";
import { whileLeader } from "./leader.ts";
import { untilLogReaches } from "./log-age.ts";
import { brief, retry } from "./retry.ts";

/** Small enough that the locks of a batch are held for moments, large enough to catch up in bulk. */
const batchEventsMax = 200;

/**
 * Keeps the read models up to date until the signal aborts: as the leader, or as a standby that
 * takes over within a moment when the leader's process or its connection dies.
 */
export async function runProjections(deps: CatchUpDeps, signal: AbortSignal): Promise<void> {
  const onError = (error: unknown): void => {
    deps.log.warn({ err: brief(error) }, "projections interrupted, starting again");
  };
  await whileLeader(deps.databaseUrl, "projections", signal, (held) => lead(deps, held), onError);
}

/** One subscription feeds all that are live; what is behind is brought up beside it. */
async function lead(deps: CatchUpDeps, signal: AbortSignal): Promise<void> {
  const { db, store, projections, log } = deps;
  const ended = new AbortController();
  const until = AbortSignal.any([signal, ended.signal]);
  await untilLogReaches(deps, signal);
  if (signal.aborted) return;
  const after = await prepare(db, projections);
  log.info({ projections: projections.length, position: after }, "leading the projections");
  const tending = tend(deps, until);
  try {
    const start = after === beforeEverything ? undefined : after;
    const items = store.subscribeAll({ after: start, signal: until });
    for await (const batch of batches(items, after, batchEventsMax)) {
      await retry(
        until,
        () => feed(deps, batch),
        (error) => {
          log.warn(
            { err: brief(error), position: batch.after },
            "read models cannot be written, trying again",
          );
        },
      );
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    ended.abort();
    await tending;
  }
}

/**
 * Installs what is new and decides who is live: those that got furthest. The others are behind,
 * among them those that had failed: a new leader is a new try.
 */
async function prepare(db: Knex, projections: CatchUpDeps["projections"]): Promise<bigint> {
  return db.transaction(async (tx) => {
    await lockFeed(tx);
    const installed = new Set((await readCheckpoints(tx)).map(({ name }) => name));
    for (const projection of projections) {
      if (!installed.has(projection.name)) await install(tx, projection, "behind");
    }

    const versions = new Map(projections.map(({ name, version }) => [name, version]));
    const rows = await readCheckpoints(tx);
    const current = rows.filter(({ name, version }) => versions.get(name) === version);
    const after = current.reduce(
      (furthest, { position }) => (position > furthest ? position : furthest),
      beforeEverything,
    );
    for (const row of rows) {
      const { name, position } = row;
      const live = current.includes(row) && position === after;
      await tx<StoredCheckpoint>("projection_checkpoint")
        .where({ name })
        .update({ state: live ? "live" : "behind", position, failure: null });
    }
    // Nothing follows it now, and it may have been ahead of a log that was restored.
    await tx("projection_feed").update({ position: after });
    return after;
  });
}
