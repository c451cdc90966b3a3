import type { EventMetadata } from "../../events/event.ts";
import type { UserId } from "../../events/ids.ts";
import { gpgKeyNameStream } from "../../events/reservation.ts";
import { userSubject } from "../../events/user.ts";
import type { GpgPublicKey } from "../../platform/gpg-key.ts";
import { type GpgKeyCommand, gpgKey, gpgKeyTaken } from "../gpg-key.ts";
import { type CommandResult, currentState, handle } from "../handle.ts";
import { fingerprintToReserve } from "./key-fingerprint.ts";
import type { RegisterUserDeps } from "./register-user.ts";
import { type NameToReserve, releaseName, reserveName } from "./reserve-name.ts";

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
  await reserveName(deps, toReserve(deps, userId, fingerprint), metadata);
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

/** Deletes the key, then frees its fingerprint. May be repeated. */
export async function deleteGpgKey(
  deps: RegisterUserDeps,
  {
    userId,
    ...which
  }: Omit<Extract<GpgKeyCommand, { type: "DeleteGpgKey" }>, "type" | "at"> &
    Readonly<{ userId: UserId; fingerprint: string }>,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { keyId, by, fingerprint } = which;
  const command = { type: "DeleteGpgKey", keyId, by, at: deps.now() } as const;
  const result = await handle(deps.store, gpgKey, { id: userId, command, metadata });
  await releaseName(deps, gpgKeyNameStream(fingerprint), userId, metadata);
  return result;
}

/** Frees the keys of somebody who is being forgotten: whoever holds the private half may come back. */
export async function releaseGpgKeys(
  deps: RegisterUserDeps,
  userId: string,
  metadata: EventMetadata,
): Promise<void> {
  const { fingerprints } = await currentState(deps.store, gpgKey, userId);
  for (const fingerprint of fingerprints.values()) {
    await releaseName(deps, gpgKeyNameStream(fingerprint), userId, metadata);
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
      stream: gpgKeyNameStream,
      fingerprintsOf: async (id) => (await currentState(store, gpgKey, id)).fingerprints,
      taken: gpgKeyTaken,
    },
  );
}
