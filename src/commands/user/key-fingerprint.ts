import type { EventMetadata, EventSchemas } from "../../events/core/event.ts";
import type { UserId } from "../../events/core/ids.ts";
import { userStream } from "../../events/user/user.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import type { Slice } from "../core/decider.ts";
import { type CommandResult, currentState, handle } from "../core/handle.ts";
import { type NameToReserve, releaseName } from "../core/reserve-name.ts";
import type { DeleteKey, KeyRing } from "./key-ring.ts";
import type { RegisterUserDeps } from "./register-user.ts";

/** A kind of keys that users have, each of which one account of the instance holds by its fingerprint. */
export type KeyKind<KeyId extends string, Schemas extends EventSchemas> = Readonly<{
  slice: Slice<KeyRing, DeleteKey<KeyId>, Schemas>;
  /** Stream of the name that a fingerprint is. */
  nameStream: (fingerprint: string) => string;
  taken: NameToReserve["taken"];
}>;

export function fingerprintToReserve<KeyId extends string, Schemas extends EventSchemas>(
  { store }: Readonly<{ store: EventStore }>,
  { slice, nameStream, taken }: KeyKind<KeyId, Schemas>,
  { userId, fingerprint }: Readonly<{ userId: string; fingerprint: string }>,
): NameToReserve {
  return {
    name: nameStream(fingerprint),
    holderId: userId,
    holderStreams: (id) => [userStream(id)],
    async stillHolds(id) {
      const { fingerprints } = await currentState(store, slice, id);
      return [...fingerprints.values()].includes(fingerprint);
    },
    taken,
  };
}

/** Deletes a key, then frees its fingerprint. May be repeated. */
export async function deleteKey<KeyId extends string, Schemas extends EventSchemas>(
  deps: RegisterUserDeps,
  { slice, nameStream }: KeyKind<KeyId, Schemas>,
  {
    userId,
    keyId,
    fingerprint,
    by,
  }: Readonly<{ userId: UserId; keyId: KeyId; fingerprint: string; by: UserId }>,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const command = { type: "DeleteKey", keyId, by, at: deps.now() } as const;
  const result = await handle(deps.store, slice, { id: userId, command, metadata });
  await releaseName(deps, nameStream(fingerprint), userId, metadata);
  return result;
}

/** Frees the keys of a user who is being forgotten: the owner of the private half may register again. */
export async function releaseKeys<KeyId extends string, Schemas extends EventSchemas>(
  deps: RegisterUserDeps,
  { slice, nameStream }: KeyKind<KeyId, Schemas>,
  userId: string,
  metadata: EventMetadata,
): Promise<void> {
  const { fingerprints } = await currentState(deps.store, slice, userId);
  for (const fingerprint of fingerprints.values()) {
    await releaseName(deps, nameStream(fingerprint), userId, metadata);
  }
}
