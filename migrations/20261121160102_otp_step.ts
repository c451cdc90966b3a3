import type { Knex } from "knex";

/**
 * The newest half minute of which a user's code was taken: one of it, or of an older one, is not taken
 * again. Not a read model: it decides.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("otp_step", (table) => {
    table.uuid("user_id").primary();
    table.bigInteger("step").notNullable();
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("otp_step");
}
