import type { Knex } from "knex";

/**
 * Requests and failed logins counted by rate-limiter-flexible, where there is no Redis. Losing them
 * costs one window of counting, so the table is not written ahead.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create unlogged table public.counter (
      key varchar(255) primary key,
      points integer not null default 0,
      expire bigint
    )
  `);
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("counter");
}
