import type { Knex } from "knex";
import { type Batch, batches } from "./batch.ts";
import { type CatchUpDeps, tend } from "./catch-up.ts";
import {
  beforeEverything,
  type CheckpointRow,
  type CheckpointState,
  type FeedName,
  feeds,
  lockCheckpoints,
  lockFeed,
  readCheckpoints,
  type StoredCheckpoint,
} from "./checkpoint.ts";
import { feed } from "./feed.ts";
import { Gathering } from "./gathering.ts";
import { install } from "./install.ts";
import { whileLeader } from "./leader.ts";
import { untilLogReaches } from "./log-age.ts";
import { feedOf, type Tx } from "./projection.ts";
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
  const { store, projections, log } = deps;
  const ended = new AbortController();
  const until = AbortSignal.any([signal, ended.signal]);
  await untilLogReaches(deps, signal);
  if (signal.aborted) return;
  const after = await prepare(deps.db, projections);
  log.info({ projections: projections.length, position: after }, "leading the projections");
  const feedInto = (name: FeedName) => async (batch: Batch) => {
    const again = (error: unknown): void => {
      const message = "read models cannot be written, trying again";
      log.warn({ err: brief(error), position: batch.after }, message);
    };
    await retry(until, () => feed(deps, name, batch), again);
  };
  const tending = tend(deps, until);
  const onFailure = (): void => ended.abort();
  const gathering = new Gathering(feedInto("gathered"), until, { onFailure });
  try {
    // They may have got less far before a crash, and need not wait for the next event.
    await gathering.add({ after, upTo: after, events: [] });
    const start = after === beforeEverything ? undefined : after;
    const items = store.subscribeAll({ after: start, signal: until });
    const feedAnswers = feedInto("answers");
    for await (const batch of batches(items, after, batchEventsMax)) {
      await feedAnswers(batch);
      await gathering.add(batch);
    }
    gathering.mustGoOn();
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    ended.abort();
    await Promise.all([tending, gathering.ended()]);
  }
}

/**
 * Installs what is new and decides who is live: of each feed those that got furthest. The others are behind, among
 * them those that had failed: a new leader is a new try.
 *
 * @returns where the answers are: the gathered ones read what they lack before it
 */
async function prepare(db: Knex, projections: CatchUpDeps["projections"]): Promise<bigint> {
  return db.transaction(async (tx) => {
    for (const feed of feeds) await lockFeed(tx, feed);
    // A leader that has lost its lock may still bring some of them up.
    const names = await tx<StoredCheckpoint>("projection_checkpoint").pluck("name");
    await lockCheckpoints(tx, names);
    const installed = new Set(names);
    for (const projection of projections) {
      if (!installed.has(projection.name)) await install(tx, projection, "behind");
    }
    const rows = await readCheckpoints(tx);
    const starts: bigint[] = [];
    for (const feed of feeds) {
      const fed = projections.filter((projection) => feedOf(projection) === feed);
      if (fed.length > 0) starts.push(await prepareFeed(tx, feed, fed, rows));
    }
    const known = new Set(projections.map(({ name }) => name));
    const others = rows.filter(({ name }) => !known.has(name));
    for (const row of others) await moveCheckpoint(tx, row, { state: "behind" });
    return starts[0] ?? beforeEverything;
  });
}

async function prepareFeed(
  tx: Tx,
  feed: FeedName,
  projections: CatchUpDeps["projections"],
  all: readonly CheckpointRow[],
): Promise<bigint> {
  const versions = new Map(projections.map(({ name, version }) => [name, version]));
  const rows = all.filter(({ name }) => versions.has(name));
  const current = rows.filter(({ name, version }) => versions.get(name) === version);
  const after = current.reduce(
    (furthest, { position }) => (position > furthest ? position : furthest),
    beforeEverything,
  );
  for (const row of rows) {
    const live = current.includes(row) && row.position === after;
    await moveCheckpoint(tx, row, { state: live ? "live" : "behind", feed });
  }
  // Nothing follows it now, and it may have been ahead of a log that was restored.
  await tx("projection_feed").where({ name: feed }).update({ position: after });
  return after;
}

/** With a position of its own, whatever the feed does next. */
async function moveCheckpoint(
  tx: Tx,
  { name, position }: CheckpointRow,
  as: Readonly<{ state: CheckpointState; feed?: FeedName }>,
): Promise<void> {
  await tx<StoredCheckpoint>("projection_checkpoint")
    .where({ name })
    .update({ ...as, position, failure: null });
}
