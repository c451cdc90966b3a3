import { LRUCache } from "lru-cache";

import { type Head, type Queryable, readHeads } from "./storage.ts";

/** Enough for every stream in active use; one costs about 200 bytes. */
const streamsMax = 50_000;

/**
 * Ends of streams as of the last commit. Only the writer fills it, in commit order, so that what
 * is in it is never older than the database.
 */
export class StreamHeads extends LRUCache<string, Head> {
  constructor() {
    super({ max: streamsMax });
  }

  /** The ends of these streams; those that are not in memory are read, and not kept. */
  async of(db: Queryable, streams: readonly string[]): Promise<Map<string, Head>> {
    const known = streams.flatMap((stream) => {
      const head = this.get(stream);
      return head === undefined ? [] : [[stream, head] as const];
    });
    const heads = new Map(known);
    const missing = streams.filter((stream) => !heads.has(stream));
    // The writer may have committed something newer since.
    for (const [stream, head] of await readHeads(db, missing)) heads.set(stream, head);
    return heads;
  }
}
