import type { Knex } from "knex";
import type { Logger } from "pino";

import type { Watching } from "../projections/visible.ts";
import type { GitCaller } from "./caller.ts";

export type GitConnectionsDeps = Readonly<{
  db: Knex;
  onChange: Watching["onChange"];
  log: Logger;
}>;

/** What a connection was opened by. */
export type Opened = GitCaller & Readonly<{ sshKeyId?: string }>;

/**
 * Ends what a user is doing with git when they are blocked, or the token or SSH key they do it by is
 * taken away.
 */
export type GitConnections = Readonly<{
  /** Watches over this connection until what it returns is called. */
  watch: (opened: Opened, cut: () => void) => () => void;
}>;

type Connection = Readonly<{
  userId: string;
  tokenId: string | null;
  /** The token is an OAuth application's. */
  byApplication: boolean;
  sshKeyId: string | undefined;
  cut: () => void;
}>;

export function gitConnections({ db, onChange, log }: GitConnectionsDeps): GitConnections {
  const running = new Set<Connection>();

  function check(connection: Connection): void {
    mayGoOn(db, connection)
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
      // Proving who calls takes a while, and they may have been blocked in it.
      check(connection);
      return () => void running.delete(connection);
    },
  };
}

/** Whether the user, and what they proved themselves by, are still good. */
export async function mayGoOn(db: Knex, connection: Omit<Connection, "cut">): Promise<boolean> {
  const { userId, tokenId, byApplication, sshKeyId } = connection;
  const user = await db("app_user")
    .where({ id: userId })
    .whereNull("banned_at")
    .whereNull("forgotten_at")
    .first("id");
  if (user === undefined) return false;
  if (tokenId !== null) {
    const table = byApplication ? "oauth_authorization" : "access_token";
    return (await db(table).where({ id: tokenId }).first("id")) !== undefined;
  }
  if (sshKeyId === undefined) return true;
  return (await db("ssh_key").where({ id: sshKeyId }).first("id")) !== undefined;
}
