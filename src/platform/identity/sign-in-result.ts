import { createHash, randomBytes } from "node:crypto";
import type { Knex } from "knex";
import { Sealed } from "../../events/core/sealed.ts";
import { loginConnectionSubject } from "../../events/login/connection.ts";
import type { Vault } from "../key/vault.ts";

type SignInRow = Readonly<{
  code_hash: string;
  connection_id: string;
  sealed: Sealed;
  expires_at: Date;
}>;

/** A browser follows a redirect at once. */
const signInLifeMs = 2 * 60_000;

export type Deps = Readonly<{ db: Knex; vault: Vault; now: () => Date }>;

/**
 * Notes that an assertion was used; kept until it expires by itself, in the database that every
 * process shares.
 *
 * @returns false when it was used before
 */
export async function firstUse(
  { db, now }: Deps,
  {
    connectionId,
    assertionId,
    until,
  }: Readonly<{ connectionId: string; assertionId: string; until: Date }>,
): Promise<boolean> {
  await db("public.used_assertion").where("expires_at", "<", now()).delete();
  const digest = sha256(JSON.stringify([connectionId, assertionId]));
  const inserted = await db("public.used_assertion")
    .insert({ digest, expires_at: until })
    .onConflict("digest")
    .ignore()
    .returning("digest");
  return inserted.length === 1;
}

/** Stores the result of a login at a provider. @returns the code with which the browser takes it, once */
export async function storeSignIn(
  { db, vault, now }: Deps,
  connectionId: string,
  result: unknown,
): Promise<string> {
  await db<SignInRow>("public.sign_in_proof").where("expires_at", "<", now()).delete();
  const code = randomBytes(32).toString("base64url");
  await db<SignInRow>("public.sign_in_proof").insert({
    code_hash: sha256(code),
    connection_id: connectionId,
    sealed: await vault.seal(loginConnectionSubject(connectionId), JSON.stringify(result)),
    expires_at: new Date(now().getTime() + signInLifeMs),
  });
  return code;
}

/** Takes the result of a code; undefined when the code is unknown, used or expired. */
export async function takeSignIn(
  { db, vault, now }: Deps,
  connectionId: string,
  code: string,
): Promise<unknown> {
  const [row] = await db<SignInRow>("public.sign_in_proof")
    .where({ code_hash: sha256(code), connection_id: connectionId })
    .delete()
    .returning(["sealed", "expires_at"]);
  if (row === undefined || row.expires_at < now()) return undefined;
  const text = await vault.open(Sealed.parse(row.sealed));
  return text === null ? undefined : JSON.parse(text);
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
