import type { Knex } from "knex";

import { partsOfSealed, type Sealed } from "../../events/core/sealed.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { NotOpened, noteLost, type Vault, wrappingCheck } from "../../platform/key/vault.ts";
import { hasHadKeys, subjectsOfLostKeys } from "../../platform/key/vault-keys.ts";
import { vaultKeys } from "../../platform/key/wrapped-key.ts";
import { pages } from "../core/build.ts";
import { beforeEverything } from "../core/checkpoint.ts";
import { SealedSubjects, sealedTextsOf } from "./sealed-subject.ts";

type Stores = Readonly<{ db: Knex; store: EventStore; vault: Vault; secretKey: string }>;

/** The log has sealed texts, and the database neither a key nor a note that keys are gone. */
export class KeysLost extends Error {
  override readonly name = "KeysLost";
}

/**
 * A database that was lost, or whose address is wrong, has no keys. New keys for the same people would open nothing that
 * was sealed before, and the former ones, once they are back, nothing that was sealed since.
 *
 * @throws KeysLost
 */
export async function mustHaveKeys({ db, store }: Pick<Stores, "db" | "store">): Promise<void> {
  if (await hasHadKeys(db)) return;
  if (!(await isAnythingSealed(store))) return;
  // A key is stored before the first event that it sealed: another process may have made both meanwhile.
  if (await hasHadKeys(db)) return;
  throw new KeysLost(
    "The database has none of the keys of this log. Connect the database that belongs to it, or restore that " +
      "from a backup. If it is lost, run `ledgerforge events note-lost-keys`: e-mail addresses, passwords and " +
      "secrets in the log then read as forgotten",
  );
}

async function isAnythingSealed(store: EventStore): Promise<boolean> {
  for await (const event of store.readAll()) {
    for (const _ of sealedTextsOf(event)) return true;
  }
  return false;
}

/** Subjects with sealed texts in the log that no key opens, or with a useless key, of which that is not noted yet. */
export type LostKeys = Readonly<{
  /** They have no key, and were not forgotten. */
  keyless: readonly string[];
  /** They have no key, as they should. */
  forgotten: readonly string[];
  /** They have another key than the one that sealed, or the text was altered. */
  replaced: readonly string[];
  /** Another SECRET_KEY wrapped their key: until it is noted, nothing can be sealed for them. */
  wrappedByOther: readonly string[];
}>;

/** Opens all sealed texts of a page of events at once, so that the vault reads their keys by one statement. */
export async function findLostKeys(stores: Stores, signal: AbortSignal): Promise<LostKeys> {
  const { db, store, vault, secretKey } = stores;
  const subjects = new SealedSubjects();
  const replaced = new Set<string>();
  const tryToOpen = async (text: Sealed): Promise<void> => {
    try {
      await vault.open(text);
    } catch (error) {
      if (!(error instanceof NotOpened)) throw error;
      replaced.add(partsOfSealed(text).subject);
    }
  };
  for await (const page of pages(store, beforeEverything)) {
    signal.throwIfAborted();
    for (const event of page) subjects.add(event);
    const texts = page.flatMap((event) => [...sealedTextsOf(event)]);
    await Promise.all(
      texts.filter((text) => !replaced.has(partsOfSealed(text).subject)).map(tryToOpen),
    );
  }
  const noted = await subjectsOfLostKeys(db);
  const keyless = new Set(subjects.sealed);
  const wrappedByOther = new Set<string>();
  const isWrapped = wrappingCheck(secretKey);
  for await (const key of vaultKeys(db)) {
    keyless.delete(key.subject);
    if (!isWrapped(key) && !noted.has(key.subject)) wrappedByOther.add(key.subject);
  }
  const without = [...keyless].filter((subject) => !noted.has(subject));
  return {
    keyless: without.filter((subject) => subjects.isKept(subject)),
    forgotten: without.filter((subject) => !subjects.isKept(subject)),
    replaced: [...replaced].filter((subject) => !wrappedByOther.has(subject)),
    wrappedByOther: [...wrappedByOther],
  };
}

/**
 * Makes their texts in the log read as forgotten. Those of forgotten people are noted as well: without a key and
 * without a note, every start beside a log that has no others is refused.
 */
export async function noteLostKeys(db: Knex, lost: LostKeys): Promise<void> {
  const { keyless, forgotten, replaced, wrappedByOther } = lost;
  await noteLost(db, [...keyless, ...forgotten, ...replaced, ...wrappedByOther]);
}
