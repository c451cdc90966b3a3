import { readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

import { type Config, ConfigError, requireStores, type Settings } from "../config.ts";
import { readSecretFile } from "./secret-file.ts";

/** Where the stores of the running service are, for the other commands of the program. */
const Service = z.object({ databaseUrl: z.string(), eventStoreUrl: z.string() });

export type Service = z.output<typeof Service>;

const fileOf = (dataDir: string): string => path.join(dataDir, "run", "service.json");

export const secretKeyFile = (dataDir: string): string => path.join(dataDir, "secret-key");

/** Holds the password of PostgreSQL, so it is for its owner alone. */
export async function writeServiceFile(dataDir: string, service: Service): Promise<void> {
  const draft = `${fileOf(dataDir)}.new`;
  await writeFile(draft, JSON.stringify(service), { mode: 0o600 });
  await rename(draft, fileOf(dataDir));
}

export function removeServiceFile(dataDir: string): Promise<void> {
  return rm(fileOf(dataDir), { force: true });
}

/**
 * The configuration of a command that works on the service running with these settings: addresses not
 * in the environment are those of its embedded stores.
 *
 * @throws ConfigError when there are none, because the service does not run.
 */
export async function configOfRunning(settings: Settings): Promise<Config> {
  const text = await readFile(fileOf(settings.dataDir), "utf8").catch(() => undefined);
  const service = text === undefined ? undefined : Service.parse(JSON.parse(text));
  const filled: Settings = {
    ...settings,
    databaseUrl: settings.databaseUrl ?? service?.databaseUrl,
    eventStoreUrl: settings.eventStoreUrl ?? service?.eventStoreUrl,
    secretKey: settings.secretKey ?? (await readSecretFile(secretKeyFile(settings.dataDir))),
  };
  try {
    return requireStores(filled);
  } catch (error) {
    if (!(error instanceof ConfigError) || service !== undefined) throw error;
    const hint = `No service runs on ${settings.dataDir}: start it, or set what it needs.`;
    throw new ConfigError(`${error.message}\n${hint}`);
  }
}
