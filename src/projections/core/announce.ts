import type { Knex } from "knex";

import type { FeedName } from "./checkpoint.ts";

/** Where the projections say how far the read models are; see visible.ts. */
export const channel = "projection";

/** Payload of a change that is not a new position: read the checkpoints. */
export const reread = "";

/**
 * Moves the live read models of a feed to a position, if they were before it. Listeners receive that of the feed
 * `answers` with the commit.
 */
export function moveFeed(db: Knex, feed: FeedName, position: bigint): Knex.Raw {
  return db.raw(
    `with moved as (
       update projection_feed set position = :position, moved_at = now()
       where name = :feed and position < :position
     )
     select pg_notify(:channel, :payload) where :feed::text = 'answers'`,
    { feed, position, channel, payload: String(position) },
  );
}

/** Sent to the listeners when the transaction commits. */
export async function announce(tx: Knex, payload: bigint | typeof reread): Promise<void> {
  await announcement(tx, payload);
}

/** The statement of `announce`. */
export const announcement = (db: Knex, payload: bigint | typeof reread): Knex.Raw =>
  db.raw("select pg_notify(?, ?)", [channel, String(payload)]);

/**
 * A thing that processes keep copies of: the settings, the callers of one user or of one OAuth
 * application, who may do what in which project, agents, or what jobs are run with. Of `jobs` nothing is kept: agents
 * wait for it, and for a change of their own settings.
 */
export type Subject =
  | "settings"
  | "access"
  | "agents"
  | "job-settings"
  | "jobs"
  | `agent-${string}`
  | `user-${string}`
  | `application-${string}`;

const changed = "changed ";

/**
 * Makes every process drop its copies. It uses the same channel as positions and is sent before the
 * position of its batch, so a caller that waited for that position finds the copies gone.
 */
export function announceChange(db: Knex, subject: Subject): Knex.Raw {
  return db.raw("select pg_notify(?, ?)", [channel, announcedAs(subject)]);
}

/** The payload of a change, or its beginning, as `user-` is. */
export const announcedAs = (subject: Subject): string => changed + subject;

/** The subject, when the payload is of a change. */
export function changedSubject(payload: string): string | undefined {
  return payload.startsWith(changed) ? payload.slice(changed.length) : undefined;
}
