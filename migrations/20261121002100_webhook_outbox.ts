import type { Knex } from "knex";

/**
 * Deliveries under way, in the order they start, and since when a webhook has only failed. Not read
 * models: they are written by the workers, out of events that stay.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("webhook_outbox", (table) => {
    table.uuid("delivery_id").primary();
    table.uuid("webhook_id").notNullable();
    table.bigInteger("position").notNullable();
    // True until the first attempt was made: only then the next delivery of the webhook starts.
    table.boolean("is_first").notNullable().defaultTo(true);
    table.uuid("claimed_by");
    table.timestamp("claimed_until");
    table.timestamp("due_at").notNullable();
    table.index(["webhook_id", "is_first", "position"]);
    table.index(["due_at"]);
  });
  await db.schema.withSchema("public").createTable("webhook_health", (table) => {
    table.uuid("webhook_id").primary();
    table.timestamp("failing_since").notNullable();
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("webhook_health");
  await db.schema.withSchema("public").dropTable("webhook_outbox");
}
