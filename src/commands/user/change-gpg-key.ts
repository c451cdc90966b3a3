import type { EventMetadata } from "../../events/core/event.ts";
import type { UserId } from "../../events/core/ids.ts";
import { gpgKeyNameStream } from "../../events/core/reservation.ts";
import { userSubject } from "../../events/user/user.ts";
import type { GpgPublicKey } from "../../platform/key/gpg-key.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { reserveName } from "../core/reserve-name.ts";
import { type GpgKeyCommand, gpgKey, gpgKeyTaken } from "./gpg-key.ts";
import { deleteKey, fingerprintToReserve, releaseKeys } from "./key-fingerprint.ts";
import type { RegisterUserDeps } from "./register-user.ts";

const gpgKeys = { slice: gpgKey, nameStream: gpgKeyNameStream, taken: gpgKeyTaken };

type Add = Extract<GpgKeyCommand, { type: "AddGpgKey" }>;

export type NewGpgKey = Pick<Add, "keyId" | "userId" | "by"> &
  Readonly<{ title: string; key: GpgPublicKey }>;

/**
 * A key vouches for one account of the instance: its fingerprint is reserved before it is added.
 *
 * @throws Refusal `unprocessable` with `gpg_key.taken`
 */
export async function addGpgKey(
  deps: RegisterUserDeps,
  { title, key, ...newKey }: NewGpgKey,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { armoured, fingerprint, fingerprints } = key;
  const { userId } = newKey;
  const toReserve = fingerprintToReserve(deps, gpgKeys, { userId, fingerprint });
  await reserveName(deps, toReserve, metadata);
  const seal = (text: string) => deps.vault.seal(userSubject(userId), text);
  const command = {
    ...newKey,
    type: "AddGpgKey",
    title: await seal(title),
    publicKey: await seal(armoured),
    fingerprint,
    fingerprints: [...fingerprints],
    at: deps.now(),
  } as const;
  return handle(deps.store, gpgKey, { id: userId, command, metadata });
}

export async function deleteGpgKey(
  deps: RegisterUserDeps,
  {
    keyId,
    by,
    ...which
  }: Omit<Extract<GpgKeyCommand, { type: "DeleteGpgKey" }>, "type" | "at"> &
    Readonly<{ userId: UserId; fingerprint: string }>,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const command = { type: "DeleteGpgKey", keyId, by, at: deps.now() } as const;
  return deleteKey(deps, gpgKeys, { ...which, command }, metadata);
}

export function releaseGpgKeys(
  deps: RegisterUserDeps,
  userId: string,
  metadata: EventMetadata,
): Promise<void> {
  return releaseKeys(deps, gpgKeys, userId, metadata);
}
