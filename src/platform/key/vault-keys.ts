import type { Knex } from "knex";

import { noteLost } from "./vault.ts";
import { vaultKeys, type WrappedKey } from "./wrapped-key.ts";

const rowsAtOnce = 1_000;

/** The first subject that has another key here already; undefined when there is none. */
export async function findOtherKey(
  db: Knex,
  keys: AsyncIterable<WrappedKey>,
): Promise<string | undefined> {
  for await (const some of inParts(keys)) {
    const wrapped = new Map(some.map((key) => [key.subject, key.wrapped]));
    const found = await db<WrappedKey>("vault_key").whereIn("subject", [...wrapped.keys()]);
    const other = found.find((key) => wrapped.get(key.subject)?.equals(key.wrapped) === false);
    if (other !== undefined) return other.subject;
  }
  return undefined;
}

/** A key that may have taken the place of one that is gone. */
export type MovedKey = WrappedKey & Readonly<{ hadFormer?: true | undefined }>;

/** Puts keys, and notes which of them had a former one; those that are there already stay. */
export async function putVaultKeys(db: Knex, keys: AsyncIterable<MovedKey>): Promise<void> {
  for await (const some of inParts(keys)) {
    await db.transaction(async (tx) => {
      const rows = some.map(({ subject, wrapped }) => ({ subject, wrapped }));
      await tx<WrappedKey>("vault_key").insert(rows).onConflict("subject").ignore();
      const subjects = some.map(({ subject }) => subject);
      await tx("vault_key_gone").whereIn("subject", subjects).delete();
      await noteLost(
        tx,
        some.filter(({ hadFormer }) => hadFormer).map(({ subject }) => subject),
      );
    });
  }
}

/** Notes which of the subjects have no key. @returns them */
export async function noteKeyless(
  db: Knex,
  subjects: ReadonlySet<string>,
): Promise<readonly string[]> {
  const keyless = new Set(subjects);
  for await (const { subject } of vaultKeys(db)) keyless.delete(subject);
  await noteLost(db, [...keyless]);
  return [...keyless];
}

/** Subjects of which it is known that a key of theirs is gone. */
export async function subjectsOfLostKeys(db: Knex): Promise<ReadonlySet<string>> {
  return new Set(await db("vault_key_gone").pluck<string[]>("subject"));
}

/** Whether the vault has a key, or a note of one that is gone. */
export async function hasHadKeys(db: Knex): Promise<boolean> {
  const found = await Promise.all(
    ["vault_key", "vault_key_gone"].map((table) => db(table).first("subject")),
  );
  return found.some((row) => row !== undefined);
}

async function* inParts<Key extends WrappedKey>(
  keys: AsyncIterable<Key>,
): AsyncGenerator<readonly Key[]> {
  let part: Key[] = [];
  for await (const key of keys) {
    part.push(key);
    if (part.length < rowsAtOnce) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
