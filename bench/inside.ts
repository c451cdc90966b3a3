import type { Knex } from "knex";

import { readSettings } from "../src/config.ts";
import { configOfRunning } from "../src/embedded/service-file.ts";
import type { EventStore } from "../src/platform/event-store/event-store.ts";
import { openEventStore } from "../src/platform/event-store/eventstoredb.ts";
import { openPostgres } from "../src/platform/postgres.ts";
import type { Service } from "../test/support/app/service.ts";

/** The stores of a running service, to fill with more than requests would bring in time. */
export async function withStoresOf(
  service: Service,
  run: (stores: Readonly<{ db: Knex; store: EventStore }>) => Promise<void>,
): Promise<void> {
  const config = await configOfRunning(readSettings({ DATA_DIR: service.dataDir }));
  const [db, store] = [openPostgres(config.databaseUrl), openEventStore(config.eventStoreUrl)];
  try {
    await run({ db, store });
  } finally {
    await store.close();
    await db.destroy();
  }
}
