import type { Knex } from "knex";
import type { AuthContext } from "ssh2";
import { readSshPublicKey, type SshVerificationKey } from "../platform/key/ssh-key.ts";
import { isSshSignature } from "../platform/key/ssh-signature.ts";
import { Refusal } from "../platform/refusal.ts";
import { findSshLogin, type SshLoginRow } from "../projections/user/ssh-key.ts";

/** Everybody logs in as this one; the key says who they are. */
const login = "git";

export type Authentication =
  | Readonly<{ kind: "refused" }>
  /** The key would do; nothing is authenticated yet. */
  | Readonly<{ kind: "known" }>
  | Readonly<{ kind: "authenticated"; by: SshLoginRow }>;

const refused: Authentication = { kind: "refused" };

/**
 * Checks one attempt to log in: RFC 4252 §7. The identity follows from the key of the very
 * request that carries the signature, never from a key that was offered before.
 */
export async function authenticateUser(
  ctx: AuthContext,
  db: Knex,
  now: Date,
): Promise<Authentication> {
  if (ctx.method !== "publickey" || ctx.username !== login) return refused;
  const key = keyOf(ctx.key);
  if (key === undefined) return refused;
  const by = await findSshLogin(db, key.fingerprint, now);
  if (by === undefined || by.public_key !== key.line) return refused;
  const { signature, blob: message, hashAlgo } = ctx;
  if (signature === undefined || message === undefined) return { kind: "known" };
  const hash = hashAlgo === "sha256" || hashAlgo === "sha512" ? hashAlgo : undefined;
  const right = isSshSignature(key, { message, signature, hash });
  return right ? { kind: "authenticated", by } : refused;
}

function keyOf({ algo, data }: Readonly<{ algo: string; data: Buffer }>) {
  try {
    return readSshPublicKey(`${algo} ${data.toString("base64")}`) satisfies SshVerificationKey;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
