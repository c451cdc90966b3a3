import type { Knex } from "knex";
import type { Logger } from "pino";
import { type Config, readSettings } from "../config.ts";
import { configOfRunning } from "../embedded/service-file.ts";
import type { EventStore } from "../platform/event-store/event-store.ts";
import { openEventStore } from "../platform/event-store/eventstoredb.ts";
import { openVault, type Vault } from "../platform/key/vault.ts";
import { openLog } from "../platform/log.ts";
import { openPostgres } from "../platform/postgres.ts";

export type Stores = Readonly<{
  config: Config;
  log: Logger;
  db: Knex;
  store: EventStore;
  vault: Vault;
}>;

/** Runs a command on the stores of the running service, or of the addresses in the environment. */
export async function withStores<Result>(
  name: string,
  run: (stores: Stores) => Promise<Result>,
): Promise<Result> {
  return withStoresOf(await configOfRunning(readSettings()), name, run);
}

/** Runs a command on the stores of a configuration. */
export async function withStoresOf<Result>(
  config: Config,
  name: string,
  run: (stores: Stores) => Promise<Result>,
): Promise<Result> {
  const log = openLog(config.logLevel, name);
  const db = openPostgres(config.databaseUrl, { applicationName: `ledgerforge ${name}` });
  const store = openEventStore(config.eventStoreUrl);
  try {
    return await run({ config, log, db, store, vault: openVault(db, config.secretKey) });
  } finally {
    await store.close();
    await db.destroy();
  }
}
