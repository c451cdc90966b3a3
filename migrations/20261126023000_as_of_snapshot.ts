import type { Knex } from "knex";

/**
 * Rows that read models had at events of the past. No read model: it follows from the log, and what is missing is
 * made again.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("as_of_snapshot", (table) => {
    table.uuid("place_id").notNullable();
    /** Kind and number of the one thing that it is about; empty for all of the place. */
    table.text("thing").notNullable();
    /** Of this thing. */
    table.text("subject_id");
    table.text("read_model").notNullable();
    table.integer("version").notNullable();
    /** Of the last event that is in it. */
    table.bigInteger("position").notNullable();
    table.text("event_id").notNullable();
    /** When the latest of its events happened: by other clocks that may be one before the last. */
    table.timestamp("latest_at").notNullable();
    /** By table, as PostgreSQL prints them. */
    table.jsonb("rows").notNullable();
    table.primary(["place_id", "thing", "read_model", "version", "position"]);
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("as_of_snapshot");
}
