import type { Knex } from "knex";

import { beforeEverything } from "./checkpoint.ts";

/**
 * Up to where earlier releases have counted every event with its data, also of other applications and in streams of the
 * event store itself.
 */
export async function countedWholeUpTo(db: Knex): Promise<bigint> {
  const row = await db("counted_whole").withSchema("public").first<{ up_to: bigint }>("up_to");
  return row?.up_to ?? beforeEverything;
}

/** How the log is read by who keeps account of all of it. */
export async function wholeLog(
  db: Knex,
): Promise<Readonly<{ withForeign: true; systemStreamsUpTo: bigint }>> {
  return { withForeign: true, systemStreamsUpTo: await countedWholeUpTo(db) };
}
