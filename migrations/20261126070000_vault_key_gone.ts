import type { Knex } from "knex";

/**
 * Subjects whose key is gone: forgotten, or not moved along with the log. A later key of theirs does not open what was
 * sealed before. Not a read model.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("vault_key_gone", (table) => {
    table.text("subject").primary();
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("vault_key_gone");
}
