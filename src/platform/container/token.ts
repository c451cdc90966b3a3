import { z } from "zod";

import { readSigned, signed } from "../key/signed.ts";
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
const purpose = "container token";
/** More than ten scopes take. */
const lengthMax = 8_192;

export const isContainerToken = (token: string): boolean => token.startsWith(prefix);

/**
 * Short-lived tokens of the registry of containers (distribution/docs, spec/auth/token.md): they carry what they
 * grant, signed.
 */
export function containerTokens(vault: Pick<Vault, "digest">, now: () => Date): ContainerTokens {
  return {
    passwordMark: (hash) => vault.digest("container password", hash ?? "").slice(0, 32),
    issue(grant) {
      const endsAtSeconds = Math.floor(now().getTime() / 1_000) + containerTokenSeconds;
      return prefix + signed(vault, purpose, { ...grant, endsAtSeconds });
    },
    verify(token) {
      if (token.length > lengthMax || !isContainerToken(token)) return undefined;
      const claims = Claims.safeParse(readSigned(vault, purpose, token.slice(prefix.length)));
      if (!claims.success || now().getTime() >= claims.data.endsAtSeconds * 1_000) return undefined;
      return claims.data;
    },
  };
}
