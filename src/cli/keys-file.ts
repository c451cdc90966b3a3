import type { Knex } from "knex";
import { z } from "zod";

import type { Sealed } from "../events/core/sealed.ts";
import { openingCheck, wrappingCheck } from "../platform/key/vault.ts";
import { type MovedKey, subjectsOfLostKeys } from "../platform/key/vault-keys.ts";
import { vaultKeys } from "../platform/key/wrapped-key.ts";
import { keepSecretKey, keyCheckOf } from "./secret-key.ts";

/** A file of keys is cut off, was changed, or is another file. */
export class BadKeysFile extends Error {
  override readonly name = "BadKeysFile";
}

const Head = z.object({ format: z.literal(1), keyCheck: z.string() });
const Key = z.object({
  subject: z.string().regex(/^[A-Za-z0-9-]+$/),
  wrapped: z.base64().transform((text) => Buffer.from(text, "base64")),
  /** It took the place of one that is gone. */
  hadFormer: z.literal(true).optional(),
});
const End = z.object({ keys: z.int().nonnegative() });
const Line = z.union([Head.strict(), Key.strict(), End.strict()]);

/**
 * The keys of all subjects as lines of JSON. Without SECRET_KEY they open nothing, and those that another one wrapped,
 * which open nothing here either, are left out.
 */
export async function* keyLines(db: Knex, secretKey: string): AsyncGenerator<string> {
  yield JSON.stringify({ format: 1, keyCheck: keyCheckOf(secretKey) });
  const noted = await subjectsOfLostKeys(db);
  const isWrapped = wrappingCheck(secretKey);
  let keys = 0;
  for await (const { subject, wrapped } of vaultKeys(db)) {
    if (!isWrapped({ subject, wrapped })) continue;
    keys += 1;
    const hadFormer = noted.has(subject) ? { hadFormer: true } : {};
    yield JSON.stringify({ subject, wrapped: wrapped.toString("base64"), ...hadFormer });
  }
  yield JSON.stringify({ keys });
}

/**
 * Checks a whole file of keys: that they are wrapped by the SECRET_KEY of this instance, and open what the log has
 * sealed. Keys of another instance would replace the right ones for ever.
 *
 * @param file its name, for messages
 * @param sealedFor a text of the log for each subject that it still expects to have a key
 * @throws BadKeysFile, ConfigError
 */
export async function checkKeysFile(
  file: string,
  lines: AsyncIterable<string>,
  sealedFor: (subject: string) => Sealed | undefined,
): Promise<void> {
  let checks: ReturnType<typeof checksOf> | undefined;
  let [number, keys, isWhole] = [0, 0, false];
  for await (const text of lines) {
    number += 1;
    const line = parsed(text);
    const bad = (why: string) => new BadKeysFile(`line ${number} of ${file} ${why}`);
    if (line === undefined || isWhole) throw bad("is none of `ledgerforge events export --keys`");
    if (checks === undefined) {
      if (!("keyCheck" in line)) throw bad("is not the beginning of an export of keys");
      checks = checksOf(await keepSecretKey(line.keyCheck, "the keys were exported"));
    } else if ("subject" in line) {
      keys += 1;
      if (!checks.isWrapped(line)) throw bad("was changed");
      const text = line.hadFormer ? undefined : sealedFor(line.subject);
      if (text !== undefined && !checks.opens(line, text)) throw bad(keyOfOther(line.subject));
    } else if ("keys" in line && line.keys === keys) isWhole = true;
    else throw bad("does not end an export of as many keys: lines are missing");
  }
  if (!isWhole) throw new BadKeysFile(`${file} is cut off: its last line is missing`);
}

const checksOf = (secretKey: string) => ({
  isWrapped: wrappingCheck(secretKey),
  opens: openingCheck(secretKey),
});

const keyOfOther = (subject: string): string =>
  `is a key of ${subject} that does not open what the log has sealed: the keys are those of another instance, or ` +
  "the log was changed";

/** Keys of some subjects in a checked file. */
export async function* keysIn(
  lines: AsyncIterable<string>,
  isWanted: (subject: string) => boolean,
): AsyncGenerator<MovedKey> {
  for await (const text of lines) {
    const line = parsed(text);
    if (line !== undefined && "subject" in line && isWanted(line.subject)) yield line;
  }
}

function parsed(text: string): z.output<typeof Line> | undefined {
  try {
    return Line.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
