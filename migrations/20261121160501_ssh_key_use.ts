import type { Knex } from "knex";

/** When an SSH key was last used, to the minute: worth knowing, not worth an event a connection. */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("ssh_key_use", (table) => {
    table.uuid("key_id").primary();
    table.timestamp("used_at").notNullable();
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("ssh_key_use");
}
