import type { Knex } from "knex";
import type { Context } from "koa";
import type { Logger } from "pino";

import type { Watching } from "../projections/visible.ts";
import type { Caller } from "./gate.ts";

export type GitConnectionsDeps = Readonly<{
  db: Knex;
  onChange: Watching["onChange"];
  log: Logger;
}>;

/** Ends what a user is doing with git when they are blocked, or the token they do it by is revoked. */
export type GitConnections = Readonly<{
  /** Watches over this connection until what it returns is called. */
  watch: (ctx: Context, caller: Caller) => () => void;
}>;

type Connection = Readonly<{ userId: string; tokenId: string | null; cut: () => void }>;

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
      if (subject !== undefined && subject !== `user-${connection.userId}`) continue;
      check(connection);
    }
  });

  return {
    watch(ctx, { userId, actor }) {
      if (userId === null) return () => undefined;
      const cut = (): void => void ctx.req.socket.destroy();
      const connection = { userId, tokenId: actor.tokenId, cut };
      running.add(connection);
      // Proving who calls takes a while, and they may have been blocked in it.
      check(connection);
      return () => void running.delete(connection);
    },
  };
}

async function mayGoOn(db: Knex, { userId, tokenId }: Connection): Promise<boolean> {
  const user = await db("app_user")
    .where({ id: userId })
    .whereNull("banned_at")
    .whereNull("forgotten_at")
    .first("id");
  if (user === undefined) return false;
  if (tokenId === null) return true;
  return (await db("access_token").where({ id: tokenId }).first("id")) !== undefined;
}
