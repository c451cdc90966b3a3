import type { Knex } from "knex";

import { findUserById, type UserRow } from "./user.ts";

/** Who wrote commits: user by e-mail address in lower case. */
export type CommitAuthors = ReadonlyMap<string, UserRow>;

/**
 * The accounts that have these addresses, to show beside commits. Anybody can put any address into a
 * commit, and an account may have an address that it has not proved: what is said to be verified requires
 * for `is_email_proved` as well.
 */
export async function findCommitAuthors(
  db: Knex,
  emails: readonly string[],
): Promise<CommitAuthors> {
  const wanted = [...new Set(emails.map((email) => email.toLowerCase()))].filter(Boolean);
  if (wanted.length === 0) return new Map();
  const rows = await db<UserRow>("app_user")
    .whereRaw("lower(email) = any(?)", [wanted])
    .where({ is_confirmed: true })
    .whereNull("forgotten_at");
  return new Map(rows.map((row) => [(row.email ?? "").toLowerCase(), row]));
}

/** What stands where a person was named who was forgotten. */
export const forgottenName = "deleted user";

/**
 * The name and address that commits and tags made for an account carry. Without an address, one
 * that reaches nobody stands in: git demands some.
 */
export async function accountIdent(
  db: Knex,
  userId: string,
): Promise<Readonly<{ name: string; email: string }>> {
  const user = await findUserById(db, userId);
  if (user && user.forgotten_at !== null) {
    return { name: forgottenName, email: "forgotten@users.invalid" };
  }
  const alias = user?.alias ?? "unknown";
  const name = [user?.name, user?.surname].filter(Boolean).join(" ") || alias;
  return { name, email: user?.email ?? `${alias}@users.invalid` };
}
