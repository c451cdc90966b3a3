import type { UserId } from "../../events/core/ids.ts";
import { Refusal } from "../../platform/refusal.ts";

/** The keys of one user that are not deleted: their fingerprints by key id. */
export type KeyRing = Readonly<{ fingerprints: ReadonlyMap<string, string> }>;

export const emptyKeyRing: KeyRing = { fingerprints: new Map() };

type Key = Readonly<{ keyId: string; fingerprint: string }>;

export type DeleteKey<KeyId extends string> = Readonly<{
  type: "DeleteKey";
  keyId: KeyId;
  by: UserId;
  at: string;
}>;

/** The error for the caller when another key has the fingerprint. */
export const keyTaken = (kind: "ssh_key" | "gpg_key") =>
  ({
    field: "publicKey",
    code: `${kind}.taken`,
    message: "This key is already in use.",
  }) as const;

/** @throws Refusal `unprocessable` with `<kind>.taken` or `<kind>.too_many` */
export function mustTakeKey(
  { fingerprints }: KeyRing,
  { fingerprint }: Readonly<{ fingerprint: string }>,
  { kind, keysMax }: Readonly<{ kind: "ssh_key" | "gpg_key"; keysMax: number }>,
): void {
  if ([...fingerprints.values()].includes(fingerprint)) {
    const taken = keyTaken(kind);
    throw new Refusal("unprocessable", taken.code, taken.message, { errors: [taken] });
  }
  if (fingerprints.size >= keysMax) {
    const message = `A user has at most ${keysMax} keys.`;
    throw new Refusal("unprocessable", `${kind}.too_many`, message);
  }
}

/** The data of the event that deletes a key; undefined when there is no such key. */
export function deletionOf<KeyId extends string>(
  { fingerprints }: KeyRing,
  { keyId, by: deletedById, at: deletedAt }: DeleteKey<KeyId>,
) {
  const fingerprint = fingerprints.get(keyId);
  return fingerprint === undefined ? undefined : { keyId, fingerprint, deletedById, deletedAt };
}

export function withKey({ fingerprints }: KeyRing, { keyId, fingerprint }: Key): KeyRing {
  return { fingerprints: new Map(fingerprints).set(keyId, fingerprint) };
}

export function withoutKey({ fingerprints }: KeyRing, keyId: string): KeyRing {
  const remaining = new Map(fingerprints);
  remaining.delete(keyId);
  return { fingerprints: remaining };
}
