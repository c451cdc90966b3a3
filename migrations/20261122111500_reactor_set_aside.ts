import type { Knex } from "knex";

/**
 * Events that a reactor cannot react to, now or later. They wait here for an operator, so that the
 * events behind them do not wait for them. Not a read model: what is in it stays until it is retried.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("reactor_set_aside", (table) => {
    table.text("reactor").notNullable();
    table.uuid("event_id").notNullable();
    table.text("stream").notNullable();
    table.bigInteger("revision").notNullable();
    table.text("type").notNullable();
    table.text("reason").notNullable();
    table.timestamp("set_aside_at").notNullable().defaultTo(db.fn.now());
    table.timestamp("retry_requested_at");
    table.primary(["reactor", "event_id"]);
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("reactor_set_aside");
}
