import type { UserId } from "../../../../events/core/ids.ts";
import { findUsersById } from "../../../../projections/user/user.ts";
import type { Deps } from "../../../core/deps.ts";

/** As npm shows a person. */
export type Publisher = Readonly<{
  name: string;
  /** npm prints it whatever it is. Addresses of people are no part of a package here. */
  email: "";
}>;

/** Who published versions, each once. Who deleted the account is left out. */
export async function publishersOf(
  ids: readonly (UserId | null)[],
  { db }: Pick<Deps, "db">,
): Promise<readonly Publisher[]> {
  const own = [...new Set(ids.filter((id) => id !== null))];
  const users = own.length === 0 ? new Map() : await findUsersById(db, own);
  return own.flatMap((id) => {
    const alias: string | undefined = users.get(id)?.alias;
    return alias === undefined ? [] : [{ name: alias, email: "" } as const];
  });
}
