import type { Knex } from "knex";

/**
 * Up to where the pushes to a repository were looked at for push statistics. What was counted is in
 * the log; this saves looking again at changes that brought no commits.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("push_count_progress", (table) => {
    table.uuid("project_id").primary();
    table.bigInteger("revision").notNullable();
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("push_count_progress");
}
