import type { Knex } from "knex";

/**
 * How far the mirrors are and who works on them. No read model: it is written by the workers, at
 * every attempt, where the log only tells when a mirror breaks and when it works again.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("mirror_sync", (table) => {
    table.uuid("project_id").primary();
    table.uuid("mirror_id").notNullable();
    table.text("type").notNullable();
    table.timestamp("started_at");
    table.timestamp("succeeded_at");
    // Somebody asked for it, or it failed and is tried again; the interval holds beside it.
    table.timestamp("due_at");
    table.integer("failures").notNullable().defaultTo(0);
    table.text("error_code");
    table.text("error");
    // Who works on it, as long as they say so.
    table.uuid("runner");
    table.timestamp("runner_until");
    table.index(["due_at"]);
    table.index(["type", "started_at"]);
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("mirror_sync");
}
