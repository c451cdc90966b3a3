import { hash } from "node:crypto";
import type { Knex } from "knex";

import { runTogether, type Statement } from "../../platform/postgres/together.ts";
import { announceChange, announcement } from "./announce.ts";
import { asEventsOf } from "./apply-operation.ts";
import type { Batch } from "./batch.ts";
import type { FeedName } from "./checkpoint.ts";
import { type FeedDeps, feed } from "./feed.ts";
import { feedOf, type Projection } from "./projection.ts";
import { mayPass } from "./retry.ts";

/**
 * Feeds batch after batch. A batch whose rows are known without reading any takes one round trip to PostgreSQL. Any
 * other, and one that finds a read model where it is not expected, is fed statement by statement.
 */
export function feeder(deps: FeedDeps, name: FeedName): (batch: Batch) => Promise<void> {
  const projections = deps.projections.filter((projection) => feedOf(projection) === name);
  const expected = { name, followers: followersOf(projections) };
  let areTogether = true;
  return async (batch) => {
    if (areTogether && (await feedTogether({ ...deps, projections }, expected, batch))) return;
    areTogether = await feed(deps, name, batch);
  };
}

/** A feed, and what follows it as long as this release alone feeds it. */
type Expected = Readonly<{ name: FeedName; followers: string }>;

/**
 * @returns false when nothing was changed: a read model has to read, one is not where the others are, or something
 *   cannot be applied
 * @throws what Postgres says when it cannot be reached now: the same batch may be given again.
 */
async function feedTogether(deps: FeedDeps, expected: Expected, batch: Batch): Promise<boolean> {
  const { db } = deps;
  try {
    const writes = await statementsOf(deps, batch);
    if (writes === undefined) return false;
    const move = moveOrFail(db, expected, batch);
    // Behind changes that are announced: see announceChange.
    const moved = expected.name === "answers" ? [announcement(db, batch.upTo)] : [];
    await runTogether(db, [move, ...writes, ...moved]);
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
    const statements = await asEventsOf(
      projection,
      events,
      async () => await projection.statements?.(db, events, context),
    );
    if (statements === undefined) return undefined;
    if (projection.announces !== undefined) all.push(announceChange(db, projection.announces));
    all.push(...statements);
  }
  return all;
}

/**
 * Takes the lock of the feed and moves it to the end of the batch. Fails, by a division by zero, unless the feed is at
 * the start of the batch and moves exactly these read models: PostgreSQL holds the condition against the row as it is
 * once the lock is there, and a read model that joins or leaves changes that row (see the migration of
 * `projection_follower`).
 */
function moveOrFail(db: Knex, { name, followers }: Expected, { after, upTo }: Batch): Knex.Raw {
  return db.raw(
    `with moved as (
       update projection_feed set position = :upTo, moved_at = now()
       where name = :name and position = :after and followers = :followers
       returning name
     )
     select 1 / (select count(*) from moved)::int, set_config('synchronous_commit', 'off', true)`,
    { upTo, name, after, followers },
  );
}

/** What the view `projection_follower` shows while exactly these are live and follow their feed. */
const followersOf = (projections: readonly Projection[]): string => {
  const lines = projections.map(({ name, version }) => `${name} ${version} live`);
  return hash("sha256", lines.sort().join(", "));
};
