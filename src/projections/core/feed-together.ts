import type { Knex } from "knex";

import { runTogether, type Statement } from "../../platform/postgres/together.ts";
import { announceChange, moveFeed } from "./announce.ts";
import type { Batch } from "./batch.ts";
import { type FeedName, feedLock } from "./checkpoint.ts";
import { type FeedDeps, feed } from "./feed.ts";
import { feedOf, type Projection } from "./projection.ts";
import { mayPass } from "./retry.ts";

/**
 * Feeds batch after batch. A batch whose rows are known without reading any takes one round trip to PostgreSQL. Any
 * other, and one that finds a read model where it is not expected, is fed statement by statement.
 */
export function feeder(deps: FeedDeps, name: FeedName): (batch: Batch) => Promise<void> {
  const projections = deps.projections.filter((projection) => feedOf(projection) === name);
  let areTogether = true;
  return async (batch) => {
    if (areTogether && (await feedTogether({ ...deps, projections }, name, batch))) return;
    areTogether = await feed(deps, name, batch);
  };
}

/**
 * @returns false when nothing was changed: a read model has to read, one is not where the others are, or something
 *   cannot be applied
 * @throws what Postgres says when it cannot be reached now: the same batch may be given again.
 */
async function feedTogether(deps: FeedDeps, name: FeedName, batch: Batch): Promise<boolean> {
  const { db, projections } = deps;
  try {
    const writes = await statementsOf(deps, batch);
    if (writes === undefined) return false;
    const expected = feedCheck(db, name, projections, batch.after);
    const move = moveFeed(db, name, batch.upTo);
    await runTogether(db, [feedLock(db, name), expected, ...writes, move]);
    return true;
  } catch (error) {
    if (mayPass(error)) throw error;
    // What was wrong is found out event by event.
    return false;
  }
}

/** What the batch makes of all read models; undefined when one of them has to read for it. */
async function statementsOf(
  { db, projections, context }: FeedDeps,
  batch: Batch,
): Promise<readonly Statement[] | undefined> {
  const given = projections
    .map((projection) => {
      const events = batch.events.filter(({ type }) => projection.types.has(type));
      return { projection, events };
    })
    .filter(({ events }) => events.length > 0);
  // Checked before any of them prepares statements in vain.
  if (given.some(({ projection }) => projection.statements === undefined)) return undefined;
  const all: Statement[] = [];
  for (const { projection, events } of given) {
    const statements = await projection.statements?.(db, events, context);
    if (statements === undefined) return undefined;
    if (projection.announces !== undefined) all.push(announceChange(db, projection.announces));
    all.push(...statements);
  }
  return all;
}

/**
 * Fails, by a division by zero, unless the feed is at the start of the batch and moves exactly these read models.
 * It is a statement of its own behind the lock, as one sees what was committed before it began.
 */
function feedCheck(
  db: Knex,
  feed: FeedName,
  projections: readonly Projection[],
  after: bigint,
): Knex.Raw {
  return db.raw(
    `select 1 / (
       coalesce((select position = :after::bigint from projection_feed where name = :feed), false)
       and (select count(*) = :count::int
              and coalesce(bool_and(state = 'live' and name || ' ' || version = any(:expected::text[])), true)
            from projection_checkpoint where feed = :feed and position is null)
     )::int`,
    {
      after,
      feed,
      count: projections.length,
      expected: projections.map(({ name, version }) => `${name} ${version}`),
    },
  );
}
