import type { Knex } from "knex";

/**
 * How pairs of commits merge. No read model: it follows from what the repository holds, and what is
 * missing is found out again.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("merge_check", (table) => {
    table.uuid("project_id").notNullable();
    table.text("ours").notNullable();
    table.text("theirs").notNullable();
    /** Null where they conflict. */
    table.text("tree_id");
    table.specificType("conflicts", "text[]").notNullable();
    table.timestamp("checked_at").notNullable().defaultTo(db.fn.now()).index();
    table.primary(["project_id", "ours", "theirs"]);
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("merge_check");
}
