import type { Knex } from "knex";

/** How large each repository was when it was measured last. No read model: it is not in the log. */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("repository_size", (table) => {
    table.uuid("project_id").primary();
    table.bigInteger("bytes").notNullable();
    table.timestamp("measured_at").notNullable();
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("repository_size");
}
