import type { Knex } from "knex";

/** The date of what a repository of packages shows, which rises with every change that was read. */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("document_date", (table) => {
    table.uuid("repository_id").primary();
    table.text("state").notNullable();
    table.timestamp("date", { precision: 0 }).notNullable();
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("document_date");
}
