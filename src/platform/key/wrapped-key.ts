import type { Knex } from "knex";

/** The key of a subject, wrapped by SECRET_KEY. */
export type WrappedKey = Readonly<{ subject: string; wrapped: Buffer }>;

const rowsAtOnceDefault = 1_000;

/** All keys of an instance, by subject. */
export async function* vaultKeys(
  db: Knex,
  rowsAtOnce = rowsAtOnceDefault,
): AsyncGenerator<WrappedKey> {
  let after = "";
  for (;;) {
    const rows = await db<WrappedKey>("vault_key")
      .where("subject", ">", after)
      .orderBy("subject")
      .limit(rowsAtOnce)
      .select("subject", "wrapped");
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) return;
    after = last.subject;
  }
}
