import type { Knex } from "knex";
import { whileLeader } from "../../platform/postgres/leader.ts";
import { type Batch, batches } from "./batch.ts";
import { type CatchUpDeps, keepBringingUp } from "./catch-up.ts";
import { beforeEverything, lockFeed, readCheckpoints } from "./checkpoint.ts";
import { feed, type Log } from "./feed.ts";
import { installMissing } from "./install.ts";
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
  const { store, projections, log } = deps;
  const ended = new AbortController();
  const until = AbortSignal.any([signal, ended.signal]);
  await untilLogReaches(deps, signal);
  if (signal.aborted) return;
  const after = await prepare(deps.db, projections);
  log.info({ projections: projections.length, position: after }, "leading the projections");
  const bringingUp = keepBringingUp(deps, until);
  try {
    const start = after === beforeEverything ? undefined : after;
    const items = store.subscribeAll({
      ...{ after: start, signal: until, withForeign: true },
      onOutage: (error) => reportOutage(log, error),
    });
    for await (const batch of batches(items, after, batchEventsMax)) {
      const again = (error: unknown): void => {
        const message = "read models cannot be written, trying again";
        log.warn({ err: brief(error), position: batch.after }, message);
      };
      await retry(until, () => feed(deps, batch), again);
      reportForeign(log, batch);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    ended.abort();
    await bringingUp;
  }
}

function reportOutage(log: Log, error: Error | undefined): void {
  if (error === undefined) log.info({}, "the event store answers again");
  else log.warn({ err: brief(error) }, "the event store does not answer, trying again");
}

/** Of other applications; each once, since the feed does not go back. */
function reportForeign(log: Log, { events }: Batch): void {
  const foreign = events.filter(({ isForeign }) => isForeign === true);
  const [first] = foreign;
  if (first === undefined) return;
  const { position, stream, type } = first;
  const message = "events of another application are in the store, they are left out";
  log.warn({ events: foreign.length, position, stream, type }, message);
}

/**
 * Installs what is new and decides who is live: those of this release that got furthest. The others are behind, among
 * them those that had failed: a new leader is a new try.
 *
 * @returns where the live ones are
 */
async function prepare(db: Knex, projections: CatchUpDeps["projections"]): Promise<bigint> {
  return db.transaction(async (tx) => {
    await lockFeed(tx);
    await installMissing(tx, projections);
    const rows = await readCheckpoints(tx);
    const versions = new Map(projections.map(({ name, version }) => [name, version]));
    const current = rows.filter(({ name, version }) => versions.get(name) === version);
    const after = current.reduce(
      (furthest, { position }) => (position > furthest ? position : furthest),
      beforeEverything,
    );
    for (const row of rows) {
      const isLive = current.includes(row) && row.position === after;
      const moved = isLive
        ? { state: "live", position: null }
        : { state: "behind", position: row.position };
      await tx("projection_checkpoint")
        .where({ name: row.name })
        .update({ ...moved, failure: null });
    }
    // Nothing follows it now, and it may have been ahead of a log that was restored.
    await tx("projection_feed").update({ position: after });
    return after;
  });
}
