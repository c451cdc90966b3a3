import { forgetUser } from "../commands/user/forget-user.ts";
import { dropHalfBuilt, schemasOfPast } from "../projections/past/rebuild-until.ts";
import { findUser } from "../projections/user/user.ts";
import { CommandEnd, exits, onlyArgument } from "./command-end.ts";
import { withStores } from "./stores.ts";
import { write } from "./write.ts";
import { cliMetadata, untilVisible } from "./written.ts";

/**
 * Deletes a person's key, so that everything personal about them is unreadable from now on, and
 * waits until the read models have dropped it. Cannot be undone; may be repeated. Schemas of `rebuild --until`
 * belong to the operator, and are named only.
 */
export async function run(args: readonly string[]): Promise<number> {
  const alias = onlyArgument(args, "forget");
  return withStores("forget", async ({ config, db, store, vault }) => {
    const user = await findUser(db, alias);
    if (user === undefined) throw new CommandEnd(`There is no user ${alias}.`, exits.notFound);
    const now = () => new Date().toISOString();
    const { position } = await forgetUser({ store, vault, now }, user.id, cliMetadata());
    await untilVisible({ config, db }, position);
    await dropHalfBuilt({ db, databaseUrl: config.databaseUrl }, new AbortController().signal);
    write(process.stdout, `${user.alias} is forgotten.\n`);
    const past = (await schemasOfPast(db)).join(", ");
    if (past !== "") {
      const todo = "drop them, or build them again by `ledgerforge rebuild --until`";
      write(
        process.stderr,
        `Schemas of the past may still have personal data: ${past}; ${todo}.\n`,
      );
    }
    return 0;
  });
}
