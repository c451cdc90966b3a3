import type { Knex } from "knex";

/** When a session was last seen, to a few seconds: worth knowing, not worth an event a page. */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("session_use", (table) => {
    table.uuid("session_id").primary();
    table.timestamp("seen_at").notNullable();
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("session_use");
}
