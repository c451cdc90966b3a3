import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";

import { handle } from "../commands/core/handle.ts";
import { settings } from "../commands/instance/settings.ts";
import { defaultsOfGroup, settingsGroups } from "../commands/instance/settings-group.ts";
import { changeUserPassword } from "../commands/user/change-user.ts";
import { settingsId } from "../events/instance/settings.ts";
import { findUser } from "../projections/user/user.ts";
import { CommandEnd, exits } from "./command-end.ts";
import { usageOf } from "./help.ts";
import { withStores } from "./stores.ts";
import { write } from "./write.ts";
import { cliMetadata, untilVisible } from "./written.ts";

const passwordBytes = 12;

/** Restores access on the machine when no administrator can log in any more. */
export async function run(args: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
  const [first, second, third] = positionals;
  if (first === "reset-password" && second !== undefined && positionals.length === 2) {
    return await resetPassword(second);
  }
  const isReset = first === "settings" && second === "reset";
  if (isReset && third !== undefined && positionals.length === 3) return await resetGroup(third);
  throw new CommandEnd(usageOf("admin"));
}

/** Sets a random password and prints it. Sessions of the account end. */
function resetPassword(alias: string): Promise<number> {
  return withStores("admin", async ({ config, db, store, vault }) => {
    const user = await findUser(db, alias);
    if (user === undefined || user.forgotten_at !== null) {
      throw new CommandEnd(`There is no user ${alias}.`, exits.notFound);
    }
    const password = randomBytes(passwordBytes).toString("base64url");
    const deps = { store, vault, now: () => new Date().toISOString() };
    const change = { userId: user.id, by: user.id, metadata: cliMetadata() };
    const { position } = await changeUserPassword(deps, change, { password, unlike: 0 });
    await untilVisible({ config, db }, position);
    write(process.stdout, `${user.alias} has the password ${password} now.\n`);
    return 0;
  });
}

/** Gives the settings of a group their defaults again. */
async function resetGroup(group: string): Promise<number> {
  const changes = defaultsOfGroup(group);
  if (changes === undefined) {
    const groups = Object.keys(settingsGroups).join(", ");
    throw new CommandEnd(`There is no group ${group}. Groups: ${groups}.`, exits.notFound);
  }
  return await withStores("admin", async ({ config, db, store }) => {
    const at = new Date().toISOString();
    const command = {
      type: "ChangeSettings",
      changes,
      // An operator with access to the machine can always change the settings back.
      administratorToken: true,
      by: null,
      at,
    } as const;
    const metadata = cliMetadata();
    const { position } = await handle(store, settings, { id: settingsId, command, metadata });
    await untilVisible({ config, db }, position);
    write(process.stdout, `The settings of ${group} have their defaults.\n`);
    return 0;
  });
}
