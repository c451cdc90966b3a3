import type { EventStoreDBClient } from "@eventstore/db-client";

import { isSystemEvent } from "./event-owner.ts";
import { newestOf, readBackwards } from "./read.ts";

/** Up to where the log was looked through, and the newest event in that part which is not the server's own. */
type Seen = Readonly<{ upTo: bigint; found: bigint | undefined }>;

/**
 * The newest event that is not the server's own. A server writes statistics and settings by the thousand, and no read
 * backwards can leave them out: each search goes back only to where the last one began.
 */
export class LogHead {
  #seen: Seen = { upTo: -1n, found: undefined };

  async find(client: EventStoreDBClient): Promise<bigint | undefined> {
    const newest = await newestOf(client);
    if (newest === undefined) return undefined;
    // A log that ends before the part that was looked through is another one: it was restored.
    const seen = newest.position < this.#seen.upTo ? undefined : this.#seen;
    const found = isSystemEvent(newest) ? await searched(client, seen) : newest.position;
    this.#seen = { upTo: newest.position, found };
    return found;
  }
}

async function searched(
  client: EventStoreDBClient,
  seen: Seen | undefined,
): Promise<bigint | undefined> {
  for await (const event of readBackwards(client)) {
    if (seen !== undefined && event.position <= seen.upTo) return seen.found;
    if (!isSystemEvent(event)) return event.position;
  }
  return undefined;
}
