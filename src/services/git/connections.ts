import type { Knex } from "knex";
import type { Logger } from "pino";

import type { Watching } from "../../projections/progress/visible.ts";
import type { GitCaller } from "./caller.ts";

export type GitConnectionsDeps = Readonly<{
  db: Knex;
  onChange: Watching["onChange"];
  log: Logger;
  now: () => Date;
}>;

/**
 * Ends what a user is doing with git when they are blocked, or the token or SSH key they do it by is
 * taken away.
 */
export type GitConnections = Readonly<{
  /** Watches over this connection until what it returns is called. */
  watch: (opened: GitCaller, cut: () => void) => () => void;
}>;

type Connection = Readonly<{
  userId: string;
  tokenId: string | null;
  /** The token is an OAuth application's. */
  byApplication: boolean;
  sshKeyId: string | undefined;
  cut: () => void;
}>;

export function gitConnections({ db, onChange, log, now }: GitConnectionsDeps): GitConnections {
  const running = new Set<Connection>();

  function check(connection: Connection): void {
    mayGoOn(db, connection, now())
      .then((may) => {
        if (!may && running.has(connection)) connection.cut();
      })
      .catch((error: unknown) => log.warn({ err: error }, "a git connection was not checked"));
  }

  onChange((subject) => {
    for (const connection of running) {
      const concerned =
        subject === undefined ||
        subject === `user-${connection.userId}` ||
        (connection.byApplication && subject.startsWith("application-"));
      if (concerned) check(connection);
    }
  });

  return {
    watch({ userId, actor, sshKeyId }, cut) {
      if (userId === null) return () => undefined;
      const byApplication = actor.via === "oauth";
      const connection = { userId, tokenId: actor.tokenId, byApplication, sshKeyId, cut };
      running.add(connection);
      // Authentication takes a while, and they may have been blocked in it.
      check(connection);
      return () => void running.delete(connection);
    },
  };
}

/** Whether the user, and what they authenticated with, are still good: neither gone nor expired. */
export async function mayGoOn(
  db: Knex,
  connection: Omit<Connection, "cut">,
  now: Date,
): Promise<boolean> {
  const { userId, tokenId, byApplication, sshKeyId } = connection;
  const user = await db("app_user")
    .where({ id: userId })
    .whereNull("banned_at")
    .whereNull("forgotten_at")
    .first("id");
  if (user === undefined) return false;
  if (tokenId !== null) {
    return byApplication
      ? isThere("oauth_authorization", tokenId, "access_expires_at")
      : isThere("access_token", tokenId, "expires_at");
  }
  return sshKeyId === undefined || isThere("ssh_key", sshKeyId, "expires_at");

  /** Whether the row exists and its time is not over; without an end it never is. */
  async function isThere(table: string, id: string, until: string): Promise<boolean> {
    const row = await db(table)
      .where({ id })
      .where((open) => open.whereNull(until).orWhere(until, ">=", now))
      .first("id");
    return row !== undefined;
  }
}
