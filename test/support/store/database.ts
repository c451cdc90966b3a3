import { randomBytes } from "node:crypto";
import type { Knex } from "knex";

import { openPostgres } from "../../../src/platform/postgres.ts";
import { eventually } from "../app/eventually.ts";
import { databaseUrl, type Template, testServer } from "./postgres-server.ts";

export type TestDatabase = Readonly<{ url: string; db: Knex }>;

/**
 * A private database for the calling test file, with all migrations applied, dropped when the file
 * ends. Call it at the top of the file or of a `describe`, with `await`.
 *
 * @param template `app` has the tables of all read models and queues as well, as after the first start
 */
export async function testDatabase(template: Template = "migrated"): Promise<TestDatabase> {
  const server = await testServer();
  const name = `test_${randomBytes(6).toString("hex")}`;
  const admin = openPostgres(server.url, { poolMax: 1 });
  // Copying a small template's files is less work than PostgreSQL's default, which logs each page.
  const from = server.templates[template];
  await admin.raw("create database ?? template ?? strategy file_copy", [name, from]);

  const url = databaseUrl(server.url, name);
  const db = openPostgres(url);
  after(async () => {
    await db.destroy();
    // Not `with (force)`: a pool that ended may still have sockets open, and forcing them surfaces as
    // an unhandled error; a plain drop waits for them, but for five seconds only.
    await eventually(async () => {
      await admin.raw("drop database ??", [name]);
      return true;
    }, 60_000);
    await admin.destroy();
  });
  return { url, db };
}
