import type { Knex } from "knex";

/** How often files of a package's version were fetched: worth knowing, not worth an event each time. */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("package_download", (table) => {
    table.uuid("package_version_id").primary();
    table.bigInteger("downloads").notNullable();
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("package_download");
}
