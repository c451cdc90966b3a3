import { randomBytes } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import path from "node:path";

import { ConfigError } from "../config.ts";
import type { Recorded } from "../events/core/event.ts";
import { syncFileSystem } from "../git/file-system.ts";
import { openGit } from "../git/repositories.ts";
import { openBlobs } from "../platform/blob/open.ts";
import { blobPath } from "../platform/blob/store.ts";
import { withLock } from "../platform/postgres/leader.ts";
import { leafOf } from "../projections/audit/log-tree.ts";
import { GrowingTree } from "../projections/audit/merkle.ts";
import { sealedLine } from "../projections/audit/sealed-log.ts";
import { allReactorPositions } from "../services/core/reactor-checkpoint.ts";
import { storeBlob } from "./backup/blob-file.ts";
import { copyRepository, copyWhole, filesBelow } from "./backup/copy-tree.ts";
import { writeLineFile } from "./backup/line-file.ts";
import { backupFormat, findManifest, type Manifest, writeManifest } from "./backup/manifest.ts";
import { hadBegun, settleRefsOf } from "./backup/settle-refs.ts";
import { tableLines } from "./backup/tables.ts";
import { CommandEnd, exits, onlyArgument, orInterrupted } from "./command-end.ts";
import { LeftOut, ownEvents } from "./own-events.ts";
import { keyCheckOf } from "./secret-key.ts";
import { stopSignal } from "./stop-signal.ts";
import { type Stores, withStores } from "./stores.ts";
import { write } from "./write.ts";

const closeLimitMs = 10_000;

/**
 * `backup <directory>`: everything that the service cannot make again, as it was at one position of the log,
 * while the service goes on. Into the directory of an earlier backup it copies only what is new there.
 */
export async function run(args: readonly string[]): Promise<number> {
  const directory = path.resolve(onlyArgument(args, "backup"));
  const { signal } = stopSignal(closeLimitMs);
  const interrupted = "Interrupted: run it again to finish; an earlier backup there stays whole.";
  const manifest = await withStores("backup", (stores) => backUp(stores, directory, signal)).catch(
    orInterrupted(signal, interrupted),
  );
  if (manifest === undefined) {
    throw new CommandEnd("Another backup of this instance is running.", exits.busy);
  }
  const { events, repositories, blobs, position } = manifest;
  write(
    process.stdout,
    `Backed up ${events.lines} events up to position ${position}, ${repositories} repositories ` +
      `and ${blobs} large files.\nKeep SECRET_KEY elsewhere: without it nobody can use the backup.\n`,
  );
  return 0;
}

/**
 * One at a time: a second one would remove what the first has written and not named yet.
 *
 * @returns undefined when another process makes a backup of this instance
 * @throws ConfigError when the directory holds something else
 */
export async function backUp(
  stores: Stores,
  directory: string,
  signal: AbortSignal,
): Promise<Manifest | undefined> {
  const held = await withLock(stores.config.databaseUrl, "backup", signal, (locked) =>
    writeBackup(stores, directory, locked),
  );
  return held?.result;
}

/**
 * In this order nothing is missing that the log up to its position speaks of: reactors and large files before the
 * position is chosen, keys after it, large files again, repositories at the end.
 */
async function writeBackup(
  stores: Stores,
  directory: string,
  signal: AbortSignal,
): Promise<Manifest> {
  const { config, db, store } = stores;
  const keyCheck = keyCheckOf(config.secretKey);
  await prepare(directory, keyCheck);
  const reactors = await allReactorPositions(db);
  await copyBlobs(stores, directory, signal);
  const end = await store.head();
  // An earlier backup may have ended at the same position: its files stay until this one is whole.
  const name = `${end ?? "empty"}-${randomBytes(4).toString("hex")}`;
  const tables = await writeLineFile(inside(directory, `tables-${name}`), tableLines(db), signal);
  const tree = new GrowingTree();
  const leftOut = new LeftOut();
  const events = await writeLineFile(
    inside(directory, `events-${name}`),
    linesUpTo(end, ownEvents(store, leftOut, { isPutBack: true }), tree),
    signal,
  );
  leftOut.report();
  const blobs = await copyBlobs(stores, directory, signal);
  const repositories = await copyRepositories(stores, { directory, end: end ?? -1n, signal });
  for await (const file of filesBelow(path.join(config.dataDir, "ssh"))) {
    await copyWhole(path.join(config.dataDir, "ssh", file), path.join(directory, "ssh", file));
  }
  const manifest: Manifest = {
    format: backupFormat,
    createdAt: new Date().toISOString(),
    position: end === undefined ? null : String(end),
    rootHash: tree.root().toString("base64"),
    events: { name: `events-${name}.jsonl.gz`, ...events },
    tables: { name: `tables-${name}.jsonl.gz`, ...tables },
    repositories,
    blobs,
    reactors: Object.fromEntries([...reactors].map(([reactor, at]) => [reactor, String(at)])),
    keyCheck,
  };
  await syncFileSystem(directory);
  signal.throwIfAborted();
  await mustBeOfInstance(directory, keyCheck);
  await writeManifest(directory, manifest);
  await removeOthers(directory, manifest);
  return manifest;
}

const inside = (directory: string, name: string): string =>
  path.join(directory, `${name}.jsonl.gz`);

/** An empty directory, or one with a backup of this instance. */
async function prepare(directory: string, keyCheck: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await mustBeOfInstance(directory, keyCheck);
  const known =
    /^(?:backup\.json(?:\.new)?|(?:events|tables)-[\w-]+\.jsonl\.gz|blobs|repositories|ssh)$/;
  const strange = (await readdir(directory)).find((name) => !known.test(name));
  if (strange !== undefined) {
    throw new ConfigError(`${directory} holds ${strange}: give an empty directory for the backup.`);
  }
  await removeOthers(directory, await findManifest(directory));
}

async function mustBeOfInstance(directory: string, keyCheck: string): Promise<void> {
  const former = await findManifest(directory);
  if (former === undefined || former.keyCheck === keyCheck) return;
  throw new ConfigError(`${directory} holds the backup of another instance.`);
}

async function* linesUpTo(
  end: bigint | undefined,
  events: AsyncIterable<Recorded>,
  tree: GrowingTree,
): AsyncGenerator<string> {
  if (end === undefined) return;
  for await (const event of events) {
    if (event.position > end) return;
    tree.add(leafOf(event));
    yield sealedLine(event);
  }
}

/** @returns how many there are */
async function copyBlobs(
  { config, db }: Stores,
  directory: string,
  signal: AbortSignal,
): Promise<number> {
  const blobs = await openBlobs(config, db);
  try {
    let count = 0;
    for await (const digest of blobs.list(new Date())) {
      signal.throwIfAborted();
      const target = path.join(directory, "blobs", blobPath(digest));
      if (await storeBlob(digest, target, () => blobs.read(digest))) count += 1;
    }
    return count;
  } finally {
    blobs.close();
  }
}

/** @returns how many there are */
async function copyRepositories(
  { config, store, log }: Stores,
  { directory, end, signal }: Readonly<{ directory: string; end: bigint; signal: AbortSignal }>,
): Promise<number> {
  const root = path.join(config.dataDir, "repositories");
  const copies = openGit({ dataDir: directory, log });
  try {
    let count = 0;
    for await (const name of repositoriesBelow(root)) {
      signal.throwIfAborted();
      const projectId = path.basename(name, ".git");
      if (!(await hadBegun(store, projectId, end))) continue;
      await copyRepository(path.join(root, name), path.join(directory, "repositories", name));
      await settleRefsOf(copies, { store, projectId, end });
      count += 1;
    }
    return count;
  } finally {
    await copies.close();
  }
}

/** `ab/cd/<project id>.git` of each. */
export async function* repositoriesBelow(root: string): AsyncGenerator<string> {
  const listed = async (under: string): Promise<readonly string[]> =>
    (await readdir(path.join(root, under)).catch(() => [])).sort();
  for (const first of await listed("")) {
    if (!/^[0-9a-f]{2}$/.test(first)) continue;
    for (const second of await listed(first)) {
      for (const name of await listed(path.join(first, second))) {
        if (name.endsWith(".git")) yield path.join(first, second, name);
      }
    }
  }
}

/** Files of events and tables that the manifest does not name: of an earlier backup, or of one that was interrupted. */
async function removeOthers(directory: string, manifest?: Manifest): Promise<void> {
  const named = [manifest?.events.name, manifest?.tables.name];
  for (const name of await readdir(directory)) {
    if (name.endsWith(".jsonl.gz") && !named.includes(name)) await rm(path.join(directory, name));
  }
}
