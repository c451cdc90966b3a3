import type { Knex } from "knex";

/** Where the projections say how far the read models are; see visible.ts. */
export const channel = "projection";

/** Payload of a change that is not a new position: read the checkpoints. */
export const reread = "";

/** Told to the listeners when the transaction commits. */
export async function announce(tx: Knex, payload: bigint | typeof reread): Promise<void> {
  await tx.raw("select pg_notify(?, ?)", [channel, String(payload)]);
}
