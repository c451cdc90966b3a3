import { parseArgs } from "node:util";

import { ConfigError, inheritedEnvironment, readSettings } from "../config.ts";
import { startEventStoreServer } from "../embedded/event-store/server.ts";
import { openLog } from "../platform/log.ts";
import { stopSignal } from "./stop-signal.ts";
import { suppliedSettings } from "./supervised.ts";

const closeLimitMs = 5_000;

/** Serves the embedded event store on loopback until stopped. */
export async function run(args: readonly string[]): Promise<number> {
  const stop = stopSignal(closeLimitMs);
  const { values } = parseArgs({
    args: [...args],
    options: { port: { type: "string" }, supervised: { type: "boolean", default: false } },
  });
  const supplied = values.supervised ? await suppliedSettings(stop) : {};
  if (supplied === undefined) return 0;
  const { databaseUrl, logLevel } = readSettings({ ...inheritedEnvironment(), ...supplied });
  if (databaseUrl === undefined) {
    throw new ConfigError("Bad configuration:\n  DATABASE_URL is required");
  }
  const log = openLog(logLevel, "event-store");
  const server = await startEventStoreServer({
    databaseUrl,
    port: Number(values.port ?? 0),
    onOutage: (error) => log.error({ err: error }, "the database failed, trying again"),
  });
  log.info({ url: server.url }, "event store ready");
  process.send?.({ ready: { url: server.url, port: Number(new URL(server.url).port) } });

  await stop.stopped;
  await server.close();
  log.info("event store closed");
  return 0;
}
