import { timingSafeEqual } from "node:crypto";
import { z } from "zod";

import type { Vault } from "../key/vault.ts";

export const ContainerAction = z.enum(["pull", "push"]);
export type ContainerAction = z.output<typeof ContainerAction>;

const Via = z.enum(["token", "oauth", "password", "job"]);

/** The user of a token, and the rights that it grants. */
const Grant = z.object({
  /** Null: a client without credentials. */
  user: z
    .object({
      id: z.uuid(),
      alias: z.string(),
      via: Via,
      tokenId: z.string().nullable(),
      /** A mark of the password it was requested with: another password ends the grant. */
      passwordMark: z.string().nullable(),
    })
    .nullable(),
  /** SHA-256 of the token of the requesting job: the grant ends with the run of the job. */
  jobTokenHash: z.string().optional(),
  /** Actions by the full name of the image. */
  access: z.record(z.string(), z.array(ContainerAction)),
});
export type ContainerGrant = Readonly<z.output<typeof Grant>>;

const Claims = Grant.extend({ endsAtSeconds: z.int() });

export type ContainerTokens = Readonly<{
  issue: (grant: ContainerGrant) => string;
  /**
   * What the token opens, or undefined when it is none of ours or its time is over. Whether its user is blocked by
   * now, or has lost the role, is for the caller to look up.
   */
  verify: (token: string) => ContainerGrant | undefined;
  /** Distinguishes passwords, by the hash that is kept of one; null for accounts without. */
  passwordMark: (passwordHash: string | null) => string;
}>;

/** It is checked when a request begins: the largest layer may take longer. */
export const containerTokenSeconds = 15 * 60;
const prefix = "lfct_";
/** More than ten scopes take. */
const lengthMax = 8_192;

export const isContainerToken = (token: string): boolean => token.startsWith(prefix);

/**
 * Short-lived tokens of the registry of containers (distribution/docs, spec/auth/token.md): they carry what they
 * grant, and an HMAC under a key derived from SECRET_KEY. Nothing is stored.
 */
export function containerTokens(vault: Pick<Vault, "digest">, now: () => Date): ContainerTokens {
  const sign = (payload: string): string =>
    Buffer.from(vault.digest("container token", payload), "hex").toString("base64url");
  return {
    passwordMark: (hash) => vault.digest("container password", hash ?? "").slice(0, 32),
    issue(grant) {
      const endsAtSeconds = Math.floor(now().getTime() / 1_000) + containerTokenSeconds;
      const payload = Buffer.from(JSON.stringify({ ...grant, endsAtSeconds })).toString(
        "base64url",
      );
      return `${prefix}${payload}.${sign(payload)}`;
    },
    verify(token) {
      if (token.length > lengthMax || !isContainerToken(token)) return undefined;
      const [payload = "", signature = "", more] = token.slice(prefix.length).split(".");
      if (more !== undefined || !same(signature, sign(payload))) return undefined;
      const text = Buffer.from(payload, "base64url").toString("utf8");
      const claims = Claims.safeParse(JSON.parse(text));
      if (!claims.success || now().getTime() >= claims.data.endsAtSeconds * 1_000) return undefined;
      return claims.data;
    },
  };
}

/** Without telling by its time where they differ. */
function same(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
