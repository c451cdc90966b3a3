import type { Knex } from "knex";

/** The Merkle tree over the log proves what the hash chain beside it proved. */
export async function up(db: Knex): Promise<void> {
  await db.raw("delete from public.projection_checkpoint where name = 'log_chain'");
  await db.raw("drop table if exists read_model.log_chain_head, read_model.log_chain_mark");
}

export async function down(): Promise<void> {
  // The release before makes the read models that it lacks.
}
