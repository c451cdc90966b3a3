import { parseArgs } from "node:util";

import { ConfigError, inheritedEnvironment, readSettings } from "../config.ts";
import { startEventStoreServer } from "../embedded/event-store/server.ts";
import { releaseIdleMemory } from "../embedded/idle-memory.ts";
import { openLog } from "../platform/log.ts";
import { stopSignal } from "./stop-signal.ts";
import { suppliedSettings } from "./supervised.ts";

const closeLimitMs = 5_000;

/** Serves the embedded event store on a Unix socket until stopped. */
export async function run(args: readonly string[]): Promise<number> {
  const stop = stopSignal(closeLimitMs);
  const { values } = parseArgs({
    args: [...args],
    options: { socket: { type: "string" }, supervised: { type: "boolean", default: false } },
  });
  const supplied = values.supervised ? await suppliedSettings(stop) : {};
  if (supplied === undefined) return 0;
  const { databaseUrl, logLevel } = readSettings({ ...inheritedEnvironment(), ...supplied });
  if (databaseUrl === undefined) {
    throw new ConfigError("Bad configuration:\n  DATABASE_URL is required");
  }
  const { socket } = values;
  if (socket === undefined) {
    throw new ConfigError("--socket is required: a path in a directory for its owner alone");
  }
  const log = openLog(logLevel, "event-store");
  const server = await startEventStoreServer({
    databaseUrl,
    socket,
    onOutage: (error) => log.error({ err: error }, "the database failed, trying again"),
  });
  log.info({ url: server.url }, "event store ready");
  if (values.supervised) releaseIdleMemory();
  process.send?.({ ready: { url: server.url } });

  await stop.stopped;
  await server.close();
  log.info("event store closed");
  return 0;
}
