import { createReadStream } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import path from "node:path";

import { ConfigError } from "../config.ts";
import { syncFileSystem } from "../git/file-system.ts";
import { openGit } from "../git/repositories.ts";
import type { Blobs } from "../platform/blob/blobs.ts";
import { openBlobs } from "../platform/blob/open.ts";
import { type BlobDigest, isBlobDigest } from "../platform/blob/store.ts";
import { ifThere } from "../platform/if-there.ts";
import { Refusal } from "../platform/refusal.ts";
import { importEvents, OtherLog } from "../projections/audit/event-import.ts";
import { BadLine, readSealedLog } from "../projections/audit/sealed-log.ts";
import { putReactors } from "../services/core/reactor-checkpoint.ts";
import { holdReactors } from "../services/core/reactor-hold.ts";
import { allReactors } from "../workers/all.ts";
import { copyRepository, copyWhole, filesBelow } from "./backup/copy-tree.ts";
import { digestOfFile, readLineFile } from "./backup/line-file.ts";
import { findManifest, type Manifest } from "./backup/manifest.ts";
import { hadBegun, settleRefsOf } from "./backup/settle-refs.ts";
import { putTables } from "./backup/tables.ts";
import { repositoriesBelow } from "./backup.ts";
import { CommandEnd, exits, onlyArgument, orInterrupted } from "./command-end.ts";
import { withOfflineStores } from "./offline-stores.ts";
import { keepSecretKey } from "./secret-key.ts";
import { stopSignal } from "./stop-signal.ts";
import type { Stores } from "./stores.ts";
import { write } from "./write.ts";

/** Restored, without what is missing or damaged in the backup. */
const exitLacking = 1;
const closeLimitMs = 10_000;

/**
 * `restore <directory>`: puts a backup into an instance that is empty and does not run. Interrupted, it is run
 * again and goes on. Read models are built at the next start.
 */
export async function run(args: readonly string[]): Promise<number> {
  const directory = path.resolve(onlyArgument(args, "restore"));
  const { signal } = stopSignal(closeLimitMs);
  try {
    const manifest = await checkedManifest(directory);
    await keepSecretKey(manifest.keyCheck, "the backup was made");
    const restored = await withOfflineStores("restore", signal, (stores) =>
      restore(stores, { directory, manifest, signal }),
    );
    return report(manifest, restored);
  } catch (error) {
    if (error instanceof BadLine || error instanceof OtherLog) {
      throw new CommandEnd(`${error.message}.`, exits.bad);
    }
    const interrupted = "Interrupted: run it again before the service is started.";
    return orInterrupted(signal, interrupted)(error);
  }
}

type Restored = Readonly<{
  repositories: number;
  blobs: number;
  /** Large files whose content is not what they are named by; they are left out. */
  damaged: readonly string[];
}>;

function report(manifest: Manifest, { repositories, blobs, damaged }: Restored): number {
  const { events } = manifest;
  write(
    process.stdout,
    `Restored ${events.lines} events, ${repositories} repositories and ${blobs} large files.\n` +
      "Start the service, and check it with `ledgerforge doctor`.\n",
  );
  const lacks = [
    ...damaged.map((file) => `${file} is damaged and was left out`),
    ...lack("repositories", manifest.repositories - repositories),
    ...lack("large files", manifest.blobs - blobs - damaged.length),
  ];
  for (const line of lacks) write(process.stderr, `${line}.\n`);
  return lacks.length === 0 ? 0 : exitLacking;
}

const lack = (what: string, count: number): readonly string[] =>
  count > 0 ? [`${what} that the backup had are missing there: ${count}`] : [];

/** @throws ConfigError, BadLine: nothing has been changed then */
async function checkedManifest(directory: string): Promise<Manifest> {
  const manifest = await findManifest(directory);
  if (manifest === undefined) {
    throw new ConfigError(`There is no whole backup in ${directory}: backup.json is missing.`);
  }
  for (const { name, sha256 } of [manifest.tables, manifest.events]) {
    const file = path.join(directory, name);
    if ((await ifThere(stat(file))) === undefined) throw new ConfigError(`${file} is missing.`);
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

type Order = Readonly<{ directory: string; manifest: Manifest; signal: AbortSignal }>;

/** Events come last but for the reactors: an instance without them is still an empty one. */
async function restore(stores: Stores, { directory, manifest, signal }: Order): Promise<Restored> {
  const { config, db, store } = stores;
  const from = (...names: string[]): string => path.join(directory, ...names);
  await mustBeEmptyOrBegun(stores, { directory, manifest, signal });
  await putTables(db, readLineFile(from(manifest.tables.name)));
  const blobs = await putBlobs(stores, from("blobs"), signal);
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
  const end = imported.head ?? -1n;
  const settled = await settleRepositories(stores, from("repositories"), end, signal);
  const reached = Object.entries(manifest.reactors).map(
    ([name, at]) => [name, imported.positions.get(BigInt(at)) ?? -1n] as const,
  );
  await putReactors(db, new Map(reached));
  return { ...blobs, repositories: settled };
}

/**
 * The log decides: a later backup that was interrupted may have left its refs in the directory, and repositories
 * of projects that the log does not know.
 *
 * @returns how many it knows
 */
async function settleRepositories(
  { config, store, log }: Stores,
  copies: string,
  end: bigint,
  signal: AbortSignal,
): Promise<number> {
  const git = openGit({ dataDir: config.dataDir, log });
  let count = 0;
  try {
    for await (const name of repositoriesBelow(copies)) {
      signal.throwIfAborted();
      const projectId = path.basename(name, ".git");
      if (await hadBegun(store, projectId, end)) {
        await settleRefsOf(git, { store, projectId, end });
        count += 1;
      } else {
        await git.remove(projectId);
      }
    }
    return count;
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
): Promise<Pick<Restored, "blobs" | "damaged">> {
  const blobs = await openBlobs(config, db);
  const damaged: string[] = [];
  let count = 0;
  try {
    for await (const name of filesBelow(directory)) {
      signal.throwIfAborted();
      const sha256 = path.basename(name);
      if (!isBlobDigest(sha256)) continue;
      const file = path.join(directory, name);
      if (!(await putBlob(blobs, file, sha256))) damaged.push(file);
      else count += 1;
    }
    return { blobs: count, damaged };
  } finally {
    blobs.close();
  }
}

/** @returns false when the content is not what it is named by */
async function putBlob(blobs: Blobs, file: string, sha256: BlobDigest): Promise<boolean> {
  if ((await blobs.stat(sha256)) !== undefined) return true;
  const { size: bytes } = await stat(file);
  const order = { bytesMax: bytes, expected: { sha256, bytes } };
  try {
    const held = await blobs.putPlain(createReadStream(file), order);
    await held.release();
    return true;
  } catch (error) {
    if (error instanceof Refusal && error.code === "blob.digest_mismatch") return false;
    throw error;
  }
}
