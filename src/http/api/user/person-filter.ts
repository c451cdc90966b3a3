import type { Knex } from "knex";
import { z } from "zod";

import { findUser, findUserById } from "../../../projections/user/user.ts";

const nameMax = 255;

/** A person that a list is narrowed to. */
export const personFilter = () =>
  z.string().max(nameMax).optional().meta({ description: "Alias or id of a user." });

/** The id of the person; null when there is no such user, undefined when none is named. */
export async function filteredPerson(
  db: Knex,
  name: string | undefined,
): Promise<string | null | undefined> {
  if (name === undefined) return undefined;
  const isId = z.uuid().safeParse(name).success;
  const row = isId ? await findUserById(db, name) : await findUser(db, name);
  return row?.id ?? null;
}
