import type { Knex } from "knex";
import type { EventStore } from "../platform/event-store/event-store.ts";
import type { Vault } from "../platform/key/vault.ts";
import { allProjections } from "./all.ts";
import type { Log } from "./core/feed.ts";
import { runProjections } from "./core/runner.ts";
import { dropUnfitTables } from "./outdated-table.ts";

/** What the role needs of the opened platform. */
export type ProjectionsPlatform = Readonly<{
  config: Readonly<{ databaseUrl: string }>;
  db: Knex;
  store: EventStore;
  vault: Vault;
  log: Log;
}>;

/** What comes before any role of this release reads the tables of an earlier one. */
export const prepareTables = ({ db }: Pick<ProjectionsPlatform, "db">): Promise<void> =>
  dropUnfitTables(db, allProjections);

/** Starts to keep the read models up to date, as leader or standby, until closed. */
export async function startProjections(
  platform: ProjectionsPlatform,
): Promise<Readonly<{ close: () => Promise<void> }>> {
  const { config, db, store, vault, log } = platform;
  const closing = new AbortController();
  const running = runProjections(
    {
      databaseUrl: config.databaseUrl,
      db,
      store,
      projections: allProjections,
      context: { open: vault.open },
      log,
    },
    closing.signal,
  );
  return {
    async close() {
      closing.abort();
      await running;
    },
  };
}
