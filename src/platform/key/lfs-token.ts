import { z } from "zod";

import { readSigned, signed } from "./signed.ts";
import type { Vault } from "./vault.ts";

/** What git-lfs does with the objects of a project. */
export const LfsOperation = z.enum(["download", "upload"]);
export type LfsOperation = z.output<typeof LfsOperation>;

/** A user, and one operation on one project that the token allows them. */
export type LfsGrant = Readonly<{
  userId: string;
  /** In the spelling of the login, for the events that the token causes. */
  alias: string;
  projectId: string;
  operation: LfsOperation;
  /** The SSH key it was requested with; null when it was requested over HTTP. */
  keyId: string | null;
  /** The access token it was requested with. */
  tokenId?: string | undefined;
  /** A mark of the password it was requested with: another password ends the grant. */
  passwordMark?: string | undefined;
  /** When the credentials it was requested with expire: the grant ends no later. */
  endsAt?: Date | undefined;
}>;

export type IssuedLfsToken = Readonly<{ token: string; expiresInSeconds: number }>;

export type LfsTokens = Readonly<{
  /** A token for the header `Authorization: Bearer …` of git-lfs. */
  issue: (grant: LfsGrant) => IssuedLfsToken;
  /**
   * What the token grants; undefined when it was not issued here or has expired. The caller checks whether the
   * user is blocked, and still has the key and the role.
   */
  verify: (token: string) => LfsGrant | undefined;
  /** Distinguishes passwords, by the hash that is kept of one; null for accounts without. */
  passwordMark: (passwordHash: string | null) => string;
}>;

/** Long enough to begin the largest transfer; git-lfs requests another token when this one expires. */
const lifeSeconds = 15 * 60;
const prefix = "lflt_";
const purpose = "lfs token";
/** No token is longer; a longer text is not parsed. */
const lengthMax = 1024;

const Claims = z.tuple([
  z.int(),
  z.uuid(),
  z.string(),
  z.uuid(),
  LfsOperation,
  z.uuid().nullable(),
  z.uuid().nullable(),
  z.string().nullable(),
]);

/**
 * Short-lived tokens, issued by `git-lfs-authenticate` over SSH for requests over HTTP, and by a batch over HTTP
 * for its transfers. A token carries what it grants, signed.
 */
export function lfsTokens(vault: Pick<Vault, "digest">, now: () => Date): LfsTokens {
  return {
    passwordMark: (hash) => vault.digest("lfs password", hash ?? "").slice(0, 32),
    issue({ userId, alias, projectId, operation, keyId, tokenId, passwordMark, endsAt }) {
      const atSeconds = Math.floor(now().getTime() / 1_000);
      const leftSeconds = endsAt && Math.floor(endsAt.getTime() / 1_000) - atSeconds;
      const expiresInSeconds = Math.max(0, Math.min(lifeSeconds, leftSeconds ?? lifeSeconds));
      const expiresAt = atSeconds + expiresInSeconds;
      const credential = [keyId, tokenId ?? null, passwordMark ?? null];
      const claims = [expiresAt, userId, alias, projectId, operation, ...credential];
      return { token: prefix + signed(vault, purpose, claims), expiresInSeconds };
    },
    verify(token) {
      if (token.length > lengthMax || !token.startsWith(prefix)) return undefined;
      const claims = Claims.safeParse(readSigned(vault, purpose, token.slice(prefix.length)));
      // Signed by an earlier version, whose tokens said less.
      if (!claims.success) return undefined;
      const [expires, userId, alias, projectId, operation, keyId, tokenId, mark] = claims.data;
      const endsAt = new Date(expires * 1_000);
      if (now() >= endsAt) return undefined;
      const credential = { keyId, tokenId: tokenId ?? undefined, passwordMark: mark ?? undefined };
      return { userId, alias, projectId, operation, ...credential, endsAt };
    },
  };
}
