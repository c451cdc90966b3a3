import type { Actor, EventMetadata } from "../../events/core/event.ts";
import type { UserId } from "../../events/core/ids.ts";
import { userSubject } from "../../events/user/user.ts";
import type { Vault } from "../../platform/key/vault.ts";

type Deps = Readonly<{ vault: Pick<Vault, "seal">; now: () => Date }>;

export type Requested = Readonly<{
  actor: Actor;
  /** Whose key seals the address. Null: the address is left out. */
  userId: UserId | null;
  /** Address of the client. */
  ip: string;
  requestId: string;
  /** Doing the same again under it writes nothing. */
  commandId: string;
}>;

/** The envelope of what a caller requests. */
export async function requestedBy(
  { vault, now }: Deps,
  { actor, userId, ip, requestId, commandId }: Requested,
): Promise<EventMetadata> {
  return {
    actor,
    ip: userId === null ? null : await vault.seal(userSubject(userId), ip),
    correlationId: requestId,
    causationId: null,
    commandId,
    schemaVersion: 1,
    occurredAt: now().toISOString(),
  };
}
