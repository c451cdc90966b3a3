import path from "node:path";

import { inheritedEnvironment, readSettings, requireStores } from "../config.ts";
import { configOfRunning } from "../embedded/service-file.ts";
import { supervise } from "../embedded/supervisor.ts";
import { migrate } from "../platform/migrate.ts";
import { mustHaveSecretKey, type Stores, withStoresOf } from "./stores.ts";
import { write } from "./write.ts";

/**
 * Runs a command on stores that no role of the service works on: those of the addresses in the environment,
 * or the embedded ones, which are started for it and ended afterwards.
 *
 * @throws ConfigError when the service runs on the data directory, or SECRET_KEY is another one than that of the stores
 */
export async function withOfflineStores<Result>(
  name: string,
  signal: AbortSignal,
  run: (stores: Stores) => Promise<Result>,
): Promise<Result> {
  const settings = readSettings();
  const prepared = async (stores: Stores): Promise<Result> => {
    await migrate(stores.db);
    await mustHaveSecretKey(stores);
    return run(stores);
  };
  if (settings.databaseUrl !== undefined && settings.eventStoreUrl !== undefined) {
    return withStoresOf(requireStores(settings), name, prepared);
  }
  const service = await supervise({
    // Nothing listens: the ports may be in use.
    settings: { ...settings, port: 0, sshPort: 0 },
    environment: inheritedEnvironment(),
    program: path.resolve(process.argv[1] ?? ""),
    roles: [],
    signal,
    report: (text) => write(process.stderr, `${text}\n`),
  });
  try {
    const working = withStoresOf(await configOfRunning(settings), name, prepared);
    return await Promise.race([working, service.givenUp]);
  } finally {
    await service.close();
  }
}
