import { rm } from "node:fs/promises";
import path from "node:path";

import { administratorExists, ensureAdministrator } from "./commands/user/ensure-administrator.ts";
import type { RegisterUserDeps } from "./commands/user/register-user.ts";
import type { Config } from "./config.ts";
import { ensureSecretFile, readSecretFile } from "./embedded/secret-file.ts";

const passwordBytes = 12;
const passwordFile = (dataDir: string): string => path.join(dataDir, "admin-password");

export type Administrator = Readonly<{
  alias: string;
  /** Generated, and not shown yet. */
  password: string | undefined;
}>;

/**
 * Makes the first administrator on the first start. A password made up for it stays in a file until
 * it was shown, so that a start that is cut off in between locks nobody out.
 */
export async function firstAdministrator(
  config: Pick<Config, "admin" | "dataDir">,
  deps: Pick<RegisterUserDeps, "store" | "vault">,
): Promise<Administrator> {
  const { alias, email, password } = config.admin;
  const file = passwordFile(config.dataDir);
  if (!(await administratorExists(deps))) {
    await ensureAdministrator(
      { ...deps, now: () => new Date().toISOString() },
      { alias, email, password: password ?? (await ensureSecretFile(file, passwordBytes)) },
    );
  }
  return { alias, password: await readSecretFile(file) };
}

/** To be called once the password has been shown. */
export function forgetFirstPassword(dataDir: string): Promise<void> {
  return rm(passwordFile(dataDir), { force: true });
}
