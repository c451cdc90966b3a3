import type { Knex } from "knex";
import { z } from "zod";
import type { Commit } from "../../../git/object/object.ts";
import type { Repository } from "../../../git/repository.ts";
import { checkSignatures, type SignatureQuestion } from "../../../git/signature/memory.ts";
import {
  checkGpgSignature,
  checkSshSignature,
  isSshSignatureText,
  type SignatureCheck,
  sshSignerOf,
} from "../../../git/signature/signature.ts";
import { BoundedCache } from "../../../platform/bounded-cache.ts";
import type { CommitAuthors } from "../../../projections/user/commit-author.ts";
import { type GpgKeyRow, gpgKeysOf } from "../../../projections/user/gpg-key.ts";
import { findSshKeys, type SshKeyRow } from "../../../projections/user/ssh-key.ts";
import type { UserRow } from "../../../projections/user/user.ts";

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

export type VerifyDeps = Readonly<{ db: Knex; now: () => Date }>;

/** By commit id: who is behind the signatures of these commits. */
export async function verifyCommits(
  { db, now }: VerifyDeps,
  repository: Repository | undefined,
  commits: readonly Commit[],
  authors: CommitAuthors,
): Promise<ReadonlyMap<string, Verification>> {
  const signed = commits.filter(({ signature }) => signature !== null);
  const signers = new Map(signed.map((commit) => [commit.id, signerOf(commit)]));
  const sshKeys = await findSshKeys(db, [...signers.values()].filter(Boolean));
  const gpgKeys = new Map<string, Promise<readonly GpgKeyRow[]>>();
  const ringOf = (userId: string) => {
    const ring = gpgKeys.get(userId) ?? gpgKeysOf(db, userId);
    gpgKeys.set(userId, ring);
    return ring;
  };
  const judged = await Promise.all(
    signed.map(async (commit): Promise<Judged> => {
      const person = authors.get(commit.committer.email.toLowerCase());
      const signature = commit.signature ?? "";
      const keyId = signers.get(commit.id) ?? "";
      const why = personRefused(person);
      if (person === undefined || why !== undefined || repository === undefined) {
        return no(why ?? "The repository is not there.", keyId);
      }
      const subject = { gitDir: repository.gitDir, id: commit.id, type: "commit" } as const;
      if (isSshSignatureText(signature)) {
        return bySsh(subject, { person, key: sshKeys.get(keyId), keyId }, now());
      }
      return byGpg(subject, await ringOf(person.id));
    }),
  );
  const questions = judged.filter((it) => "runCheck" in it);
  const checks = await checkSignatures(db, questions, now());
  const verified = new Map(commits.map(({ id }) => [id, unsigned]));
  for (const [index, { id }] of signed.entries()) {
    const it = judged[index] ?? unsigned;
    const check = "runCheck" in it ? checks[questions.indexOf(it)] : undefined;
    if (!("runCheck" in it)) verified.set(id, it);
    else if (check !== undefined) verified.set(id, verificationOf(check, it.keyId));
  }
  return verified;
}

/** Which key of SSH a commit says it was signed with, empty for none: keys are slow to read. */
function signerOf({ id, signature }: Commit): string {
  const cached = cachedSigners.get(id);
  if (cached !== undefined) return cached;
  const signer = sshSignerOf(signature ?? "") ?? "";
  cachedSigners.set(id, signer, signerBytes);
  return signer;
}

const cachedSigners = new BoundedCache<string>(2 * 1024 ** 2);
const signerBytes = 400;

/** A verdict, or the question to git that leads to one; `keyId` is the key that the signature names. */
type Judged = Verification | (SignatureQuestion & Readonly<{ keyId: string }>);

type Subject = Parameters<typeof checkSshSignature>[0];

function personRefused(person: UserRow | undefined): string | undefined {
  if (person === undefined || !person.is_email_proved) {
    return "No account has proved the committer's address.";
  }
  return person.banned_at === null ? undefined : "The committer's account is blocked.";
}

function bySsh(
  subject: Subject,
  signer: Readonly<{ person: UserRow; key: SshKeyRow | undefined; keyId: string }>,
  now: Date,
): Judged {
  const { person, key, keyId } = signer;
  if (key === undefined) return no("The signing key is registered with no account.", keyId);
  if (key.user_id !== person.id) {
    return no("The signing key is not registered with the committer's account.", keyId);
  }
  if (key.expires_at !== null && key.expires_at < now) {
    return no("The signing key has expired.", keyId);
  }
  const runCheck = () => checkSshSignature(subject, key.public_key);
  return { objectId: subject.id, keyIds: [key.fingerprint], runCheck, keyId };
}

function byGpg(subject: Subject, ring: readonly GpgKeyRow[]): Judged {
  if (ring.length === 0) return no("The committer's account has no GPG key.");
  const keys = ring.map(({ public_key }) => public_key);
  const runCheck = () => checkGpgSignature(subject, keys);
  return { objectId: subject.id, keyIds: ring.map(({ id }) => id), runCheck, keyId: "" };
}

function verificationOf(check: SignatureCheck, keyId: string): Verification {
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
    case "unfinished":
      return no("The signature could not be checked this time.", keyId);
    case "bad":
      return no("The signature does not fit the commit.", check.keyId);
  }
}
