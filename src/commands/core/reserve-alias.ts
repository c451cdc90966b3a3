import type { EventMetadata } from "../../events/core/event.ts";
import { normaliseAlias } from "../../events/core/ids.ts";
import { aliasHolderStreams, aliasStream } from "../../events/core/reservation.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { releaseName, reserveName } from "./reserve-name.ts";

type Deps = Readonly<{ store: EventStore; now: () => string }>;

/** @throws Refusal `unprocessable` with `alias.taken`. */
export async function reserveAlias(
  deps: Deps,
  { alias, holderId }: Readonly<{ alias: string; holderId: string }>,
  metadata: EventMetadata,
): Promise<void> {
  const name = aliasStream(alias);
  await reserveName(
    deps,
    { name, holderId, holderStreams: aliasHolderStreams, taken: aliasTaken },
    metadata,
  );
}

/**
 * Frees the aliases a holder once had, except the one it keeps. Releasing an alias that another holder
 * has by now does nothing, so `had` may list every alias in the holder's stream.
 */
export async function releaseAliases(
  deps: Deps,
  {
    had,
    currentAlias,
    holderId,
  }: Readonly<{ had: Iterable<string>; currentAlias?: string; holderId: string }>,
  metadata: EventMetadata,
): Promise<void> {
  const free = new Set([...had].map(normaliseAlias));
  if (currentAlias !== undefined) free.delete(normaliseAlias(currentAlias));
  for (const alias of free) await releaseName(deps, aliasStream(alias), holderId, metadata);
}

const aliasTaken = {
  field: "alias",
  code: "alias.taken",
  message: "This alias is already taken.",
} as const;
