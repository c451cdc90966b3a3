import type { Knex } from "knex";

/** When a token was last seen, to the minute: worth knowing, not worth an event a request. */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("token_use", (table) => {
    table.uuid("token_id").primary();
    table.timestamp("used_at").notNullable();
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("token_use");
}
