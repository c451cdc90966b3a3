import type { Knex } from "knex";
import type { Logger } from "pino";
import { type Config, ConfigError, readSettings } from "../config.ts";
import { configOfRunning } from "../embedded/service-file.ts";
import type { EventStore } from "../platform/event-store/event-store.ts";
import { openEventStore } from "../platform/event-store/eventstoredb.ts";
import { checkSecretKey, openVault, type Vault, WrongSecretKey } from "../platform/key/vault.ts";
import { openLog } from "../platform/log.ts";
import { openPostgres } from "../platform/postgres.ts";

export type Stores = Readonly<{
  config: Config;
  log: Logger;
  db: Knex;
  store: EventStore;
  vault: Vault;
}>;

/**
 * Runs a command on the stores of the running service, or of the addresses in the environment.
 *
 * @throws ConfigError when SECRET_KEY is another one than theirs, unless the command does without
 */
export async function withStores<Result>(
  name: string,
  run: (stores: Stores) => Promise<Result>,
  { opens = true }: Readonly<{ opens?: boolean }> = {},
): Promise<Result> {
  return withStoresOf(await configOfRunning(readSettings()), name, async (stores) => {
    if (opens) await mustHaveSecretKey(stores);
    return run(stores);
  });
}

/** @throws ConfigError */
export async function mustHaveSecretKey({ db, config }: Stores): Promise<void> {
  await checkSecretKey(db, config.secretKey).catch((error: unknown) => {
    throw error instanceof WrongSecretKey ? new ConfigError(`${error.message}.`) : error;
  });
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
