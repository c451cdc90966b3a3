import type { Knex } from "knex";

/** How far each reactor has turned the log into jobs. Not a read model: losing it sends jobs again. */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("reactor_checkpoint", (table) => {
    table.text("name").primary();
    table.bigInteger("position").notNullable();
    table.timestamp("updated_at").notNullable().defaultTo(db.fn.now());
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("reactor_checkpoint");
}
