import { createReadStream } from "node:fs";
import { mkdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";

import { ConfigError, readSettings } from "../config.ts";
import { readSecretFile } from "../embedded/secret-file.ts";
import { secretKeyFile } from "../embedded/service-file.ts";
import { openBlobs } from "../platform/blob/open.ts";
import { isBlobDigest } from "../platform/blob/store.ts";
import { syncFileSystem } from "../platform/git/file-system.ts";
import { openGit } from "../platform/git/repositories.ts";
import { importEvents, OtherLog } from "../projections/audit/event-import.ts";
import { BadLine, readSealedLog } from "../projections/audit/sealed-log.ts";
import { allReactors } from "../workers/all.ts";
import { putReactors } from "../workers/core/reactor-checkpoint.ts";
import { holdReactors } from "../workers/core/reactor-hold.ts";
import { copyRepository, copyWhole, filesBelow, orGone } from "./backup/copy-tree.ts";
import { digestOfFile, readLineFile } from "./backup/line-file.ts";
import { findManifest, keyCheckOf, type Manifest } from "./backup/manifest.ts";
import { hadBegun, settleRefsOf } from "./backup/settle-refs.ts";
import { putTables } from "./backup/tables.ts";
import { repositoriesBelow } from "./backup.ts";
import { withOfflineStores } from "./offline-stores.ts";
import { stopSignal } from "./stop-signal.ts";
import type { Stores } from "./stores.ts";
import { write } from "./write.ts";

const exitUsage = 64;
const exitBad = 65;
const exitInterrupted = 130;
const closeLimitMs = 10_000;

/**
 * `restore <directory>`: puts a backup into an instance that is empty and does not run. Interrupted, it is run
 * again and goes on. Read models are built at the next start.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
  const [given] = positionals;
  if (given === undefined || positionals.length > 1) {
    write(process.stderr, "Usage: ledgerforge restore <directory>\n");
    return exitUsage;
  }
  const { signal } = stopSignal(closeLimitMs);
  const directory = path.resolve(given);
  try {
    const manifest = await checkedManifest(directory);
    await keepKey(manifest);
    await withOfflineStores("restore", signal, (stores) =>
      restore(stores, { directory, manifest, signal }),
    );
    const { events, repositories, blobs } = manifest;
    write(
      process.stdout,
      `Restored ${events.lines} events, ${repositories} repositories and ${blobs} large files.\n` +
        "Start the service, and check it with `ledgerforge doctor`.\n",
    );
    return 0;
  } catch (error) {
    if (error instanceof BadLine || error instanceof OtherLog) {
      write(process.stderr, `${error.message}.\n`);
      return exitBad;
    }
    if (!signal.aborted) throw error;
    write(process.stderr, "Interrupted: run it again before the service is started.\n");
    return exitInterrupted;
  }
}

/** @throws ConfigError, BadLine: nothing has been changed then */
async function checkedManifest(directory: string): Promise<Manifest> {
  const manifest = await findManifest(directory);
  if (manifest === undefined) {
    throw new ConfigError(`There is no whole backup in ${directory}: backup.json is missing.`);
  }
  for (const { name, sha256 } of [manifest.tables, manifest.events]) {
    const file = path.join(directory, name);
    if ((await orGone(stat(file))) === undefined) throw new ConfigError(`${file} is missing.`);
    if ((await digestOfFile(file)) !== sha256) {
      throw new ConfigError(`${file} is not what it was when the backup was made.`);
    }
  }
  for await (const _ of eventsOf(directory, manifest)) {
    // Every line is checked before anything is written.
  }
  return manifest;
}

const eventsOf = (directory: string, { events }: Manifest) =>
  readSealedLog(readLineFile(path.join(directory, events.name)));

/** What was sealed can be opened by the very key alone; embedded, it is kept beside the stores. */
async function keepKey({ keyCheck }: Manifest): Promise<void> {
  const { secretKey, dataDir, databaseUrl } = readSettings();
  const file = secretKeyFile(dataDir);
  const known = secretKey ?? (await readSecretFile(file));
  if (known === undefined) {
    throw new ConfigError(`SECRET_KEY is required: the one that the backup was made with.`);
  }
  if (keyCheckOf(known) !== keyCheck) {
    throw new ConfigError("SECRET_KEY is not the one that the backup was made with.");
  }
  if (databaseUrl !== undefined || (await readSecretFile(file)) !== undefined) return;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(file, `${known}\n`, { mode: 0o600, flag: "wx", flush: true });
}

type Order = Readonly<{ directory: string; manifest: Manifest; signal: AbortSignal }>;

/** Events come last but for the reactors: an instance without them is still an empty one. */
async function restore(stores: Stores, { directory, manifest, signal }: Order): Promise<void> {
  const { config, db, store } = stores;
  const from = (...names: string[]): string => path.join(directory, ...names);
  await mustBeEmptyOrBegun(stores, { directory, manifest, signal });
  await putTables(db, readLineFile(from(manifest.tables.name)));
  await putBlobs(stores, from("blobs"), signal);
  const repositories = path.join(config.dataDir, "repositories");
  for await (const name of repositoriesBelow(from("repositories"))) {
    signal.throwIfAborted();
    await copyRepository(from("repositories", name), path.join(repositories, name));
  }
  for await (const file of filesBelow(from("ssh"))) {
    await copyWhole(from("ssh", file), path.join(config.dataDir, "ssh", file));
  }
  await mkdir(config.dataDir, { recursive: true });
  await syncFileSystem(config.dataDir);
  const places = Object.values(manifest.reactors).map(BigInt);
  const names = allReactors.map(({ name }) => name);
  const imported = await importEvents(eventsOf(directory, manifest), store, {
    signal,
    places,
    beforeFirst: () => holdReactors(db, names),
  });
  if (imported.root.toString("base64") !== manifest.rootHash) {
    throw new OtherLog("The events are not those that were backed up: their tree has another root");
  }
  await settleRepositories(stores, from("repositories"), imported.head ?? -1n, signal);
  const reached = Object.entries(manifest.reactors).map(
    ([name, at]) => [name, imported.positions.get(BigInt(at)) ?? -1n] as const,
  );
  await putReactors(db, new Map(reached));
}

/**
 * The log decides: a later backup that was interrupted may have left its refs in the directory, and repositories
 * of projects that the log does not know.
 */
async function settleRepositories(
  { config, store, log }: Stores,
  copies: string,
  end: bigint,
  signal: AbortSignal,
): Promise<void> {
  const git = openGit({ dataDir: config.dataDir, log });
  try {
    for await (const name of repositoriesBelow(copies)) {
      signal.throwIfAborted();
      const projectId = path.basename(name, ".git");
      if (await hadBegun(store, projectId, end)) {
        await settleRefsOf(git, { store, projectId, end });
      } else {
        await git.remove(projectId);
      }
    }
  } finally {
    await git.close();
  }
}

/** @throws OtherLog before anything else is changed */
async function mustBeEmptyOrBegun({ store }: Stores, order: Order): Promise<void> {
  let first: string | undefined;
  for await (const { id } of store.readAll({ countMax: 1 })) first = id;
  if (first === undefined) return;
  for await (const { id } of eventsOf(order.directory, order.manifest)) {
    if (id === first) return;
    break;
  }
  throw new OtherLog("The log of this instance is not empty: restore into an empty instance");
}

async function putBlobs(
  { config, db }: Stores,
  directory: string,
  signal: AbortSignal,
): Promise<void> {
  const blobs = await openBlobs(config, db);
  try {
    for await (const name of filesBelow(directory)) {
      signal.throwIfAborted();
      const sha256 = path.basename(name);
      if (!isBlobDigest(sha256) || (await blobs.stat(sha256)) !== undefined) continue;
      const file = path.join(directory, name);
      const { size: bytes } = await stat(file);
      const expected = { sha256, bytes };
      const held = await blobs.putPlain(createReadStream(file), { bytesMax: bytes, expected });
      await held.release();
    }
  } finally {
    blobs.close();
  }
}
