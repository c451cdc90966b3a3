import { readdir } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Knex } from "knex";

import { isBuilt, programRoot } from "./installation.ts";

type Migration = Readonly<{ name: string; file: string }>;

/** Any number, the same in every version: only one process may migrate at a time. */
const advisoryLock = 7_310_558_201;

/**
 * Brings the tables that are not read models up to date, in the schema `public`; projections make
 * theirs. Safe to call by several processes at once: they take turns.
 */
export async function migrate(db: Knex): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.raw("select pg_advisory_xact_lock(?)", [advisoryLock]);
    const config = { migrationSource: source, schemaName: "public" };
    // A process that died while migrating left knex's own lock; while we hold ours, no other migrates.
    await db.migrate.forceFreeMigrationsLock(config);
    await db.migrate.latest(config);
  });
}

/** Whether all migrations of this release have been applied. Changes nothing. */
export async function isMigrated(db: Knex): Promise<boolean> {
  if (!(await db.schema.withSchema("public").hasTable("knex_migrations"))) return false;
  const applied = new Set(await db("knex_migrations").withSchema("public").pluck<string[]>("name"));
  return (await migrations()).every(({ name }) => applied.has(name));
}

const extension = isBuilt ? ".js" : ".ts";
const directory = path.join(programRoot, "migrations");

const source: Knex.MigrationSource<Migration> = {
  getMigrations: migrations,
  // Without the extension, so that a build continues what the source tree began.
  getMigrationName: ({ name }) => name,
  getMigration: ({ file }) => import(pathToFileURL(file).href) as Promise<Knex.Migration>,
};

async function migrations(): Promise<Migration[]> {
  const files = (await readdir(directory)).filter((file) => path.extname(file) === extension);
  return files
    .sort()
    .map((file) => ({ name: path.basename(file, extension), file: path.join(directory, file) }));
}
