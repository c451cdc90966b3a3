import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import pino from "pino";

import { type PostgresServer, startPostgres } from "../../../src/embedded/postgres/server.ts";
import { migrate } from "../../../src/platform/migrate.ts";
import { connectPostgres, openPostgres } from "../../../src/platform/postgres.ts";

/**
 * One PostgreSQL for the whole run: the one TEST_DATABASE_URL or DATABASE_URL names, else an embedded
 * one in a temporary directory. Its address and the templates' names reach the test files, which may run
 * in processes of their own, by the environment.
 */
const templateVariable = "TEST_DATABASE_TEMPLATE";
const serverVariable = "TEST_DATABASE_URL";

/** What databases are copied from: after the migrations, and after the first start of the whole service. */
export type Template = "migrated" | "app";
export type TestServer = Readonly<{ url: string; templates: Readonly<Record<Template, string>> }>;

let started: Promise<TestServer> | undefined;
let undo: (() => Promise<void>) | undefined;

/** The server, started when nobody did yet. */
export function testServer(): Promise<TestServer> {
  const url = process.env[serverVariable];
  const template = process.env[templateVariable];
  if (url !== undefined && template !== undefined) {
    return Promise.resolve({ url, templates: templatesOf(template) });
  }
  started ??= startTestServer();
  return started;
}

const templatesOf = (name: string) => ({ migrated: name, app: `${name}_app` }) as const;

/** Ends what this process started; a server given by its address stays, without the templates. */
export async function stopTestServer(): Promise<void> {
  await started;
  await undo?.();
}

async function startTestServer(): Promise<TestServer> {
  const given = process.env[serverVariable] ?? process.env["DATABASE_URL"];
  const embedded = given === undefined ? await startEmbedded() : undefined;
  const url = given ?? embedded?.server.url;
  if (url === undefined) throw new Error("no server for the tests");

  const template = `test_template_${process.pid}`;
  const admin = openPostgres(url, { poolMax: 2 });
  await admin.raw("create database ??", [template]);
  const db = openPostgres(databaseUrl(url, template));
  await migrate(db);
  await db.destroy();
  const templates = templatesOf(template);
  await admin.raw("create database ?? template ??", [templates.app, template]);
  await installAll(databaseUrl(url, templates.app));

  undo = async () => {
    // A run that was cut off may have left clones; they go with the embedded server, or by hand.
    for (const name of Object.values(templates)) await admin.raw("drop database ??", [name]);
    await admin.destroy();
    await embedded?.server.close();
    if (embedded !== undefined) await rm(embedded.dataDir, { recursive: true, force: true });
  };
  process.env[serverVariable] = url;
  process.env[templateVariable] = template;
  return { url, templates };
}

/** The tables of all read models and queues, as the service makes them when it first starts. */
async function installAll(url: string): Promise<void> {
  // Not needed by runs without databases, which start at once.
  const { openQueues } = await import("../../../src/platform/queue/queue.ts");
  const { allProjections } = await import("../../../src/projections/all.ts");
  const { install } = await import("../../../src/projections/core/install.ts");
  const { migrate: migrateEventStore } = await import(
    "../../../src/embedded/event-store/schema.ts"
  );
  const queues = await openQueues({ databaseUrl: url, log: pino({ level: "silent" }) });
  await queues.close();
  const session = await connectPostgres(url);
  await migrateEventStore(session);
  await session.end();
  const db = openPostgres(url, { poolMax: 1 });
  await db.transaction(async (tx) => {
    for (const projection of allProjections) await install(tx, projection, "behind");
  });
  await db.destroy();
}

async function startEmbedded(): Promise<{ server: PostgresServer; dataDir: string }> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-test-"));
  const server = await startPostgres({ dataDir, durable: false });
  await cheapenLogins(server.url);
  return { server, dataDir };
}

/** A client derives a key from the password for each connection, by default of 4,096 rounds. */
async function cheapenLogins(url: string): Promise<void> {
  const session = await connectPostgres(url);
  const password = session.escapeLiteral(decodeURIComponent(new URL(url).password));
  await session.query("set scram_iterations = 1");
  await session.query(`alter role postgres password ${password}`);
  await session.end();
}

/** The address of another database of the same server. */
export function databaseUrl(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
