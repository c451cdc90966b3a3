import type { EventMetadata } from "../../events/core/event.ts";
import type { GpgKeyId } from "../../events/core/ids.ts";
import { gpgKeyNameStream } from "../../events/core/reservation.ts";
import type { gpgKeyEvents } from "../../events/user/gpg-key.ts";
import { userSubject } from "../../events/user/user.ts";
import type { GpgPublicKey } from "../../git/signature/gpg-key.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { reserveName } from "../core/reserve-name.ts";
import { type GpgKeyCommand, gpgKey } from "./gpg-key.ts";
import { fingerprintToReserve, type KeyKind } from "./key-fingerprint.ts";
import { keyTaken } from "./key-ring.ts";
import type { RegisterUserDeps } from "./register-user.ts";

export const gpgKeys: KeyKind<GpgKeyId, typeof gpgKeyEvents> = {
  slice: gpgKey,
  nameStream: gpgKeyNameStream,
  taken: keyTaken("gpg_key"),
};

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
