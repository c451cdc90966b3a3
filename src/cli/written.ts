import { randomUUID } from "node:crypto";

import type { EventMetadata } from "../events/core/event.ts";
import { watchProjections } from "../projections/core/visible.ts";
import type { Stores } from "./stores.ts";

/** The envelope of what is changed at the command line. */
export function cliMetadata(): EventMetadata {
  const commandId = randomUUID();
  return {
    actor: { userId: null, alias: null, via: "cli", tokenId: null },
    ip: null,
    correlationId: commandId,
    causationId: null,
    commandId,
    schemaVersion: 1,
    occurredAt: new Date().toISOString(),
  };
}

/** Waits until the read models of the running service show everything up to a position. */
export async function untilVisible(
  { config, db }: Pick<Stores, "config" | "db">,
  position: bigint | undefined,
): Promise<void> {
  const watching = await watchProjections({ databaseUrl: config.databaseUrl, db });
  try {
    await watching.visible(position);
  } finally {
    await watching.close();
  }
}
