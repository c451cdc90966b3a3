import type { Knex } from "knex";
import { z } from "zod";

import { Lru } from "../platform/git/lru.ts";
import type { Commit } from "../platform/git/object.ts";
import type { Repository } from "../platform/git/repository.ts";
import {
  checkGpgSignature,
  checkSshSignature,
  isSshSignatureText,
  type SignatureCheck,
  sshSignerOf,
} from "../platform/git/signature.ts";
import type { CommitAuthors } from "../projections/commit-author.ts";
import { type GpgKeyRow, gpgKeysOf } from "../projections/gpg-key.ts";
import { findSshKeys, type SshKeyRow } from "../projections/ssh-key.ts";
import type { UserRow } from "../projections/user.ts";

export const VerificationView = z
  .object({
    verified: z.boolean().meta({
      description: "Signed by a key of the account that has proved the committer's address.",
    }),
    comment: z.string().meta({ description: "Why it is, or is not." }),
    keyId: z.string().meta({
      description: "Fingerprint of the key that signed: SHA256:… of SSH, hexadecimal of GPG.",
    }),
  })
  .meta({ id: "CommitVerification" });

export type Verification = z.input<typeof VerificationView>;

const no = (comment: string, keyId = ""): Verification => ({ verified: false, comment, keyId });

export const unsigned = no("The commit is not signed.");

const rememberMs = 10 * 60_000;
const entryBytes = 400;

/**
 * What git said about a signature and a set of keys. Whether a key made a signature never changes, so
 * whose the keys are now, and whether they still count, is looked up each time and never remembered.
 * That a key of GnuPG has expired is found out within the time.
 */
const checks = new Lru<Readonly<{ check: SignatureCheck; until: number }>>(4 * 1024 ** 2);

async function checked(key: string, run: () => Promise<SignatureCheck>): Promise<SignatureCheck> {
  const known = checks.get(key);
  if (known !== undefined && known.until > performance.now()) return known.check;
  const check = await run();
  // A program may be installed any time.
  if (check.kind !== "unsupported") {
    checks.set(key, { check, until: performance.now() + rememberMs }, key.length + entryBytes);
  }
  return check;
}

export type VerifyDeps = Readonly<{ db: Knex; now: () => Date }>;

/** By commit id: who is behind the signatures of these commits. */
export async function verifyCommits(
  { db, now }: VerifyDeps,
  repository: Repository | undefined,
  commits: readonly Commit[],
  authors: CommitAuthors,
): Promise<ReadonlyMap<string, Verification>> {
  const signed = commits.filter(({ signature }) => signature !== null);
  const signers = signed.map(({ signature }) => sshSignerOf(signature ?? ""));
  const sshKeys = await findSshKeys(
    db,
    signers.filter((signer) => signer !== undefined),
  );
  const gpgKeys = new Map<string, Promise<readonly GpgKeyRow[]>>();
  const ringOf = (userId: string) => {
    const ring = gpgKeys.get(userId) ?? gpgKeysOf(db, userId);
    gpgKeys.set(userId, ring);
    return ring;
  };
  const verified = await Promise.all(
    commits.map(async (commit): Promise<readonly [string, Verification]> => {
      if (commit.signature === null) return [commit.id, unsigned];
      const person = authors.get(commit.committer.email.toLowerCase());
      const keyId = sshSignerOf(commit.signature) ?? "";
      const why = personRefused(person);
      if (person === undefined || why !== undefined || repository === undefined) {
        return [commit.id, no(why ?? "The repository is not there.", keyId)];
      }
      const subject = { gitDir: repository.gitDir, id: commit.id, type: "commit" } as const;
      if (isSshSignatureText(commit.signature)) {
        return [commit.id, await bySsh(subject, { person, key: sshKeys.get(keyId), keyId }, now())];
      }
      return [commit.id, await byGpg(subject, await ringOf(person.id))];
    }),
  );
  return new Map(verified);
}

type Subject = Parameters<typeof checkSshSignature>[0];

function personRefused(person: UserRow | undefined): string | undefined {
  if (person === undefined) return "No account has proved the committer's address.";
  return person.banned_at === null ? undefined : "The committer's account is blocked.";
}

async function bySsh(
  subject: Subject,
  signer: Readonly<{ person: UserRow; key: SshKeyRow | undefined; keyId: string }>,
  now: Date,
): Promise<Verification> {
  const { person, key, keyId } = signer;
  if (key === undefined) return no("The signing key is registered with no account.", keyId);
  if (key.user_id !== person.id) {
    return no("The signing key is not registered with the committer's account.", keyId);
  }
  if (key.expires_at !== null && key.expires_at < now) {
    return no("The signing key has expired.", keyId);
  }
  const check = () => checkSshSignature(subject, key.public_key);
  return told(await checked(`${subject.id} ${key.fingerprint}`, check), keyId);
}

async function byGpg(subject: Subject, ring: readonly GpgKeyRow[]): Promise<Verification> {
  if (ring.length === 0) return no("The committer's account has no GPG key.");
  const keys = ring.map(({ public_key }) => public_key);
  const key = `${subject.id} ${ring.map(({ id }) => id).join(" ")}`;
  return told(await checked(key, () => checkGpgSignature(subject, keys)), "");
}

function told(check: SignatureCheck, keyId: string): Verification {
  switch (check.kind) {
    case "good":
      return {
        verified: true,
        comment: "Signed with a key of the committer's account.",
        keyId: check.keyId,
      };
    case "expired":
      return no("The signing key, or the signature, has expired.", check.keyId);
    case "revoked":
      return no("The signing key was revoked.", check.keyId);
    case "unknown_key":
      return no("The signing key is not registered with the committer's account.", check.keyId);
    case "unsupported":
      return no(`${check.program} is not installed here: nothing can be said.`, keyId);
    case "bad":
      return no("The signature does not fit the commit.", check.keyId);
  }
}
