import { mkdir, writeFile } from "node:fs/promises";

import { ConfigError, readSettings } from "../config.ts";
import { readSecretFile } from "../embedded/secret-file.ts";
import { secretKeyFile } from "../embedded/service-file.ts";
import { keyedDigest } from "../platform/key/vault.ts";

/** Distinguishes the right SECRET_KEY from a wrong one, and reveals nothing about it. */
export const keyCheckOf = (secretKey: string): string =>
  keyedDigest(secretKey)("backup", "key check");

/**
 * What was sealed can be opened by the very key alone; embedded, it is kept beside the stores.
 *
 * @param origin what the key is of, as "the backup was made"
 * @returns it
 * @throws ConfigError
 */
export async function keepSecretKey(keyCheck: string, origin: string): Promise<string> {
  const { secretKey, dataDir, databaseUrl } = readSettings();
  const file = secretKeyFile(dataDir);
  const known = secretKey ?? (await readSecretFile(file));
  if (known === undefined) {
    throw new ConfigError(`SECRET_KEY is required: the one that ${origin} with.`);
  }
  if (keyCheckOf(known) !== keyCheck) {
    throw new ConfigError(`SECRET_KEY is not the one that ${origin} with.`);
  }
  if (databaseUrl === undefined && (await readSecretFile(file)) === undefined) {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await writeFile(file, `${known}\n`, { mode: 0o600, flag: "wx", flush: true });
  }
  return known;
}
