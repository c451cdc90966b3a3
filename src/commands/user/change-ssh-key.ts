import type { EventMetadata } from "../../events/core/event.ts";
import type { SshKeyId } from "../../events/core/ids.ts";
import { sshKeyNameStream } from "../../events/core/reservation.ts";
import type { sshKeyEvents } from "../../events/user/ssh-key.ts";
import { userSubject } from "../../events/user/user.ts";
import { parseSshPublicKey } from "../../platform/key/ssh-key.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { reserveName } from "../core/reserve-name.ts";
import { fingerprintToReserve, type KeyKind } from "./key-fingerprint.ts";
import { keyTaken } from "./key-ring.ts";
import type { RegisterUserDeps } from "./register-user.ts";
import { type SshKeyCommand, sshKey } from "./ssh-key.ts";

export const sshKeys: KeyKind<SshKeyId, typeof sshKeyEvents> = {
  slice: sshKey,
  nameStream: sshKeyNameStream,
  taken: keyTaken("ssh_key"),
};

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
