import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import type { Knex } from "knex";
import { LRUCache } from "lru-cache";

import { partsOfSealed, Sealed } from "../../events/core/sealed.ts";
import { takeLock } from "../postgres/lock.ts";
import { vaultKeys, type WrappedKey } from "./wrapped-key.ts";

const ivBytes = 12;
const tagBytes = 16;
const keyBytes = 32;
/** Keys are small, and far fewer subjects are in use at one time. */
const cachedKeysMax = 10_000;
/** For this long another process still opens texts of a subject that was forgotten here. */
const cachedKeyMs = 1_000;

/**
 * Keeps personal data and secrets out of the log's clear text. Every subject (`user-<uuid>`,
 * `project-<uuid>`) has a random key in `vault_key`, wrapped by the instance's secret key; deleting
 * it makes everything sealed under it unreadable, in the log, in backups of it and in exports.
 */
export type Vault = Readonly<{
  /** Encrypts under the subject's key, which is made on first use and durable before this returns. */
  seal: (subject: string, plaintext: string) => Promise<Sealed>;
  /**
   * The plaintext; null when the key that sealed it is gone: the subject has been forgotten, or the log was moved
   * without its keys.
   *
   * @throws NotOpened when the text was altered, or sealed by a key that was lost without a note of it
   */
  open: (sealed: Sealed) => Promise<string | null>;
  /** Deletes the subject's key. What was sealed under it stays in place, unreadable. */
  forget: (subject: string) => Promise<void>;
  /** Keyed digest (HMAC-SHA256, hex), for looking up what must not be stored in clear. */
  digest: (purpose: string, text: string) => string;
}>;

/** @param secretKey SECRET_KEY of the instance: losing it loses everything sealed. */
export function openVault(db: Knex, secretKey: string): Vault {
  const wrappingKey = wrappingKeyOf(secretKey);
  const digest = keyedDigest(secretKey);
  const keys = new LRUCache<string, Buffer>({ max: cachedKeysMax, ttl: cachedKeyMs });

  const readKey = batchedReads((subjects) => wrappedKeysOf(db, subjects));
  const hadFormerKey = batchedReads((subjects) => formerKeysOf(db, subjects));

  async function keyOf(subject: string): Promise<Buffer | undefined> {
    const cached = keys.get(subject);
    if (cached !== undefined) return cached;
    const wrapped = await readKey(subject);
    if (wrapped === undefined) return undefined;
    const key = unwrapped(wrappingKey, { subject, wrapped });
    keys.set(subject, key);
    return key;
  }

  const makeKey = keyMaker(db, secretKey);

  /** Removes a stored key that another SECRET_KEY wrapped, once its loss is noted: it seals nothing any more. */
  async function usableKeyOf(subject: string): Promise<Buffer | undefined> {
    try {
      return await keyOf(subject);
    } catch (error) {
      if (!(error instanceof KeyNotOpened) || !(await hadFormerKey(subject))) throw error;
      await checkSecretKey(db, secretKey);
      await db<WrappedKey>("vault_key").where(error.stored).delete();
      return undefined;
    }
  }

  async function keyFor(subject: string): Promise<Buffer> {
    const existing = await usableKeyOf(subject);
    if (existing !== undefined) return existing;
    await makeKey(subject);
    // Another process may have been first: the stored key is the one that counts.
    const stored = await keyOf(subject);
    if (stored === undefined) throw new Error(`The key of ${subject} vanished while sealing`);
    return stored;
  }

  return {
    async seal(subject, plaintext) {
      const box = encrypt(await keyFor(subject), Buffer.from(plaintext, "utf8"), subject);
      return Sealed.parse(`sealed.${subject}.${box.toString("base64url")}`);
    },
    async open(sealed) {
      const { subject, box } = partsOfSealed(sealed);
      try {
        const key = await keyOf(subject);
        if (key === undefined) return null;
        return opened(key, Buffer.from(box, "base64url"), subject);
      } catch (error) {
        if (error instanceof NotOpened && (await hadFormerKey(subject))) return null;
        throw error;
      }
    },
    async forget(subject) {
      keys.delete(subject);
      await db.transaction(async (tx) => {
        await noteLost(tx, [subject]);
        await tx<WrappedKey>("vault_key").where({ subject }).delete();
      });
    },
    digest,
  };
}

async function wrappedKeysOf(
  db: Knex,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, Buffer>> {
  const { rows } = await db.raw<{ rows: WrappedKey[] }>(
    "select subject, wrapped from vault_key where subject = any(?)",
    [[...subjects]],
  );
  return new Map(rows.map(({ subject, wrapped }) => [subject, wrapped]));
}

async function formerKeysOf(
  db: Knex,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, true>> {
  const { rows } = await db.raw<{ rows: Pick<WrappedKey, "subject">[] }>(
    "select subject from vault_key_gone where subject = any(?)",
    [[...subjects]],
  );
  return new Map(rows.map(({ subject }) => [subject, true]));
}

/**
 * Makes keys of subjects that have none. Of processes that start with an empty vault, and each with another
 * SECRET_KEY, one makes the first key, and the others fail.
 */
function keyMaker(db: Knex, secretKey: string): (subject: string) => Promise<void> {
  const wrappingKey = wrappingKeyOf(secretKey);
  let isConfirmed = false;
  return async (subject) => {
    const wrapped = encrypt(wrappingKey, randomBytes(keyBytes), subject);
    const add = async (to: Knex): Promise<void> => {
      await to<WrappedKey>("vault_key").insert({ subject, wrapped }).onConflict("subject").ignore();
    };
    if (isConfirmed) return add(db);
    await db.transaction(async (tx) => {
      await takeLock(tx, "first key of the vault");
      await checkSecretKey(tx, secretKey);
      await add(tx);
    });
    isConfirmed = true;
  };
}

/** To seal for these subjects again makes new keys, which do not open what was sealed before. */
export async function noteLost(db: Knex, subjects: readonly string[]): Promise<void> {
  await db.raw(
    "insert into vault_key_gone (subject) select unnest(?::text[]) on conflict do nothing",
    [[...subjects]],
  );
}

/** @throws NotOpened */
function opened(key: Buffer, box: Buffer, subject: string): string {
  try {
    return decrypt(key, box, subject).toString("utf8");
  } catch (cause) {
    const what = `What is sealed for ${subject} was altered, or the key that sealed it was lost`;
    throw new NotOpened(what, { cause });
  }
}

/** @throws KeyNotOpened for a key that another SECRET_KEY wrapped */
function unwrapped(wrappingKey: Buffer, stored: WrappedKey): Buffer {
  try {
    return decrypt(wrappingKey, stored.wrapped, stored.subject);
  } catch (cause) {
    throw new KeyNotOpened(stored, { cause });
  }
}

/** A sealed text that the key of its subject does not open, or a key that SECRET_KEY does not. */
export class NotOpened extends Error {
  override readonly name: string = "NotOpened";
}

class KeyNotOpened extends NotOpened {
  override readonly name = "KeyNotOpened";

  /** Private, so that no log shows it. */
  readonly #stored: WrappedKey;

  constructor(stored: WrappedKey, options: ErrorOptions) {
    const what = `The key of ${stored.subject} was altered, or was wrapped by another SECRET_KEY`;
    super(what, options);
    this.#stored = stored;
  }

  get stored(): WrappedKey {
    return this.#stored;
  }
}

/** SECRET_KEY is not the one that wraps the keys of the vault. */
export class WrongSecretKey extends Error {
  override readonly name = "WrongSecretKey";
}

/** Nearly always the first one fits. */
const checkedAtOnce = 100;

/**
 * Another SECRET_KEY opens nothing that was sealed, does not find the e-mail addresses that are taken, and would wrap
 * new keys which the right one cannot open.
 *
 * @returns whether a stored key confirms it; an empty vault does not
 * @throws WrongSecretKey
 */
export async function checkSecretKey(db: Knex, secretKey: string): Promise<boolean> {
  const isOpened = wrappingCheck(secretKey);
  let hasKeys = false;
  for await (const key of vaultKeys(db, checkedAtOnce)) {
    if (isOpened(key)) return true;
    hasKeys = true;
  }
  if (!hasKeys) return false;
  throw new WrongSecretKey(
    "SECRET_KEY is not the one of this instance: it opens none of the keys in the database. Start with the " +
      "one that the instance was set up with (embedded: DATA_DIR/secret-key)",
  );
}

/** @returns whether a key of the vault is intact, and wrapped by this SECRET_KEY */
export function wrappingCheck(secretKey: string): (key: WrappedKey) => boolean {
  const wrappingKey = wrappingKeyOf(secretKey);
  return ({ subject, wrapped }) => {
    try {
      return decrypt(wrappingKey, wrapped, subject).length === keyBytes;
    } catch {
      return false;
    }
  };
}

/** @returns whether a key that this SECRET_KEY wrapped opens a text of its subject */
export function openingCheck(secretKey: string): (key: WrappedKey, text: Sealed) => boolean {
  const wrappingKey = wrappingKeyOf(secretKey);
  return (key, text) => {
    try {
      opened(
        unwrapped(wrappingKey, key),
        Buffer.from(partsOfSealed(text).box, "base64url"),
        key.subject,
      );
      return true;
    } catch {
      return false;
    }
  };
}

/** The digest of a vault, without its database. */
export function keyedDigest(secretKey: string): Vault["digest"] {
  const digestKey = derive(secretKey, "vault digest key");
  return (purpose, text) =>
    createHmac("sha256", digestKey).update(`${purpose.length}:${purpose}${text}`).digest("hex");
}

/** Reads all ids that are requested in one turn of the event loop with one query. */
function batchedReads<Value>(
  read: (ids: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
) {
  let batch: { ids: Set<string>; values: Promise<ReadonlyMap<string, Value>> } | undefined;
  return async (id: string): Promise<Value | undefined> => {
    if (batch === undefined) {
      const ids = new Set<string>();
      const values = Promise.resolve().then(() => {
        batch = undefined;
        return read([...ids]);
      });
      batch = { ids, values };
    }
    const { ids, values } = batch;
    ids.add(id);
    return (await values).get(id);
  };
}

const wrappingKeyOf = (secretKey: string): Buffer => derive(secretKey, "vault wrapping key");

function derive(secretKey: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secretKey, "ledgerforge", purpose, 32));
}

/** AES-256-GCM; the subject is authenticated, so a box cannot be moved to another one. */
function encrypt(key: Buffer, plaintext: Buffer, subject: string): Buffer {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(subject));
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([iv, ciphertext, cipher.getAuthTag()]);
}

function decrypt(key: Buffer, box: Buffer, subject: string): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", key, box.subarray(0, ivBytes), {
    authTagLength: tagBytes,
  }).setAAD(Buffer.from(subject));
  decipher.setAuthTag(box.subarray(box.length - tagBytes));
  return Buffer.concat([
    decipher.update(box.subarray(ivBytes, box.length - tagBytes)),
    decipher.final(),
  ]);
}
