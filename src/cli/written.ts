import { randomUUID } from "node:crypto";

import type { EventMetadata } from "../events/core/event.ts";
import { bySystem } from "../events/core/system.ts";
import { watchProjections } from "../projections/progress/visible.ts";
import type { Stores } from "./stores.ts";

/** The envelope of what is changed at the command line. */
export function cliMetadata(): EventMetadata {
  const actor = { userId: null, alias: null, via: "cli", tokenId: null } as const;
  return { ...bySystem({ commandId: randomUUID() }, new Date().toISOString()), actor };
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
