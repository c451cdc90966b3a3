import type { EventMetadata } from "../../events/core/event.ts";
import type { UserId } from "../../events/core/ids.ts";
import { sshKeyNameStream } from "../../events/core/reservation.ts";
import { userSubject } from "../../events/user/user.ts";
import { parseSshPublicKey } from "../../platform/key/ssh-key.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { reserveName } from "../core/reserve-name.ts";
import { deleteKey, fingerprintToReserve, releaseKeys } from "./key-fingerprint.ts";
import type { RegisterUserDeps } from "./register-user.ts";
import { type SshKeyCommand, sshKey, sshKeyTaken } from "./ssh-key.ts";

const sshKeys = { slice: sshKey, nameStream: sshKeyNameStream, taken: sshKeyTaken };

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
  const toReserve = fingerprintToReserve(deps, sshKeys, { userId, fingerprint });
  await reserveName(deps, toReserve, metadata);
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

export async function deleteSshKey(
  deps: RegisterUserDeps,
  {
    keyId,
    by,
    ...which
  }: Omit<Extract<SshKeyCommand, { type: "DeleteSshKey" }>, "type" | "at"> &
    Readonly<{ userId: UserId; fingerprint: string }>,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const command = { type: "DeleteSshKey", keyId, by, at: deps.now() } as const;
  return deleteKey(deps, sshKeys, { ...which, command }, metadata);
}

export function releaseSshKeys(
  deps: RegisterUserDeps,
  userId: string,
  metadata: EventMetadata,
): Promise<void> {
  return releaseKeys(deps, sshKeys, userId, metadata);
}
