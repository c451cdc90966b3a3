import type { Knex } from "knex";

/**
 * What the logins by SAML have to remember between two requests, whichever process answers them: who
 * was proved, until the browser that asked comes for it; and which assertions were used, until they
 * expire by themselves.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.withSchema("public").createTable("sign_in_proof", (table) => {
    table.text("code_hash").primary();
    table.uuid("connection_id").notNullable();
    table.text("sealed").notNullable();
    table.timestamp("expires_at").notNullable().index();
  });
  await db.schema.withSchema("public").createTable("used_assertion", (table) => {
    table.text("digest").primary();
    table.timestamp("expires_at").notNullable().index();
  });
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("used_assertion");
  await db.schema.withSchema("public").dropTable("sign_in_proof");
}
