import type { EventMetadata } from "../../events/event.ts";
import type { UserId } from "../../events/ids.ts";
import { sshKeyNameStream } from "../../events/reservation.ts";
import { userSubject } from "../../events/user.ts";
import { parseSshPublicKey } from "../../platform/ssh-key.ts";
import { type CommandResult, currentState, handle } from "../handle.ts";
import { type SshKeyCommand, sshKey, sshKeyTaken } from "../ssh-key.ts";
import { fingerprintToReserve } from "./key-fingerprint.ts";
import type { RegisterUserDeps } from "./register-user.ts";
import { type NameToReserve, releaseName, reserveName } from "./reserve-name.ts";

type Add = Extract<SshKeyCommand, { type: "AddSshKey" }>;

export type NewSshKey = Pick<Add, "keyId" | "userId" | "expiresAt" | "by"> &
  Readonly<{ title: string; publicKey: string }>;

/**
 * A key opens one account of the instance: its fingerprint is reserved before it is added.
 *
 * @throws Refusal `unprocessable` with `ssh_key.invalid`, `ssh_key.weak` or `ssh_key.taken`
 */
export async function addSshKey(
  deps: RegisterUserDeps,
  newKey: NewSshKey,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { line, fingerprint } = parseSshPublicKey(newKey.publicKey);
  const { userId } = newKey;
  await reserveName(deps, toReserve(deps, userId, fingerprint), metadata);
  const title = await deps.vault.seal(userSubject(userId), newKey.title);
  const command = {
    ...newKey,
    type: "AddSshKey",
    title,
    publicKey: line,
    fingerprint,
    at: deps.now(),
  } as const;
  return handle(deps.store, sshKey, { id: userId, command, metadata });
}

/** Deletes the key, then frees its fingerprint. May be repeated. */
export async function deleteSshKey(
  deps: RegisterUserDeps,
  {
    userId,
    ...which
  }: Omit<Extract<SshKeyCommand, { type: "DeleteSshKey" }>, "type" | "at"> &
    Readonly<{ userId: UserId; fingerprint: string }>,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { keyId, by, fingerprint } = which;
  const command = { type: "DeleteSshKey", keyId, by, at: deps.now() } as const;
  const result = await handle(deps.store, sshKey, { id: userId, command, metadata });
  await releaseName(deps, sshKeyNameStream(fingerprint), userId, metadata);
  return result;
}

/** Frees the keys of somebody who is being forgotten: whoever holds the private half may come back. */
export async function releaseSshKeys(
  deps: RegisterUserDeps,
  userId: string,
  metadata: EventMetadata,
): Promise<void> {
  const { fingerprints } = await currentState(deps.store, sshKey, userId);
  for (const fingerprint of fingerprints.values()) {
    await releaseName(deps, sshKeyNameStream(fingerprint), userId, metadata);
  }
}

function toReserve(
  { store }: RegisterUserDeps,
  userId: string,
  fingerprint: string,
): NameToReserve {
  return fingerprintToReserve(
    { userId, fingerprint },
    {
      stream: sshKeyNameStream,
      fingerprintsOf: async (id) => (await currentState(store, sshKey, id)).fingerprints,
      taken: sshKeyTaken,
    },
  );
}
