import type { Knex } from "knex";

/** Answers kept for a repeated Idempotency-Key. Not a read model; rows older than a day mean nothing. */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("idempotent_answer", (table) => {
    table.uuid("id").primary();
    table.text("request_hash").notNullable();
    table.uuid("command_id").notNullable();
    table.uuid("lease_owner").notNullable();
    table.timestamp("lease_until").notNullable();
    table.integer("status");
    table.jsonb("headers");
    table.text("body");
    table.timestamp("created_at").notNullable().index();
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("idempotent_answer");
}
