import type { Knex } from "knex";

/** Where the projections say how far the read models are; see visible.ts. */
export const channel = "projection";

/** Payload of a change that is not a new position: read the checkpoints. */
export const reread = "";

type FeedMove = Readonly<{ from: bigint; to: bigint; live: readonly string[] }>;

/**
 * Moves the feed to a position, if it was before it, and with it the live read models of these names that are not ahead
 * of it. What other releases have built stays where the feed was. Listeners receive the position with the commit.
 */
export function moveFeed(db: Knex, { from, to, live }: FeedMove): Knex.Raw {
  return db.raw(
    `with moved as (
       update projection_feed set position = :to, moved_at = now() where position < :to
     ), joined as (
       update projection_checkpoint set position = null
       where name = any(:live) and position <= greatest(:from::bigint, :to)
     ), stayed as (
       update projection_checkpoint set position = :from
       where name <> all(:live) and position is null
     )
     select pg_notify(:channel, :payload)`,
    { from, to, live: [...live], channel, payload: String(to) } as never,
  );
}

/** Read models have joined the live ones: listeners read the checkpoints when the transaction commits. */
export const announceReread = (tx: Knex): Knex.Raw =>
  tx.raw("select pg_notify(?, ?)", [channel, reread]);

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
