import type { Knex } from "knex";

/** One key a subject, wrapped by the instance's secret key. Not a read model: it cannot be rebuilt. */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("vault_key", (table) => {
    table.text("subject").primary();
    table.binary("wrapped").notNullable();
    table.timestamp("created_at").notNullable().defaultTo(db.fn.now());
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("vault_key");
}
