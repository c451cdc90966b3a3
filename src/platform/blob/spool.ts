import { createHash, type Hash, randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { addAbortSignal, type Readable } from "node:stream";

import { Limit } from "../limit.ts";
import { Refusal } from "../refusal.ts";
import type { Room } from "./room.ts";
import type { Spooled } from "./store.ts";

/** Digests of the same bytes, in lower case hex. */
export type Digests = Readonly<{ md5: string; sha1: string; sha256: string; sha512: string }>;

export type SpoolOptions = Readonly<{
  /** Content beyond this is refused while it arrives. */
  bytesMax: number;
  /** Taken before the first byte and while more come. */
  room?: Pick<Room, "reach"> | undefined;
  /** Digest and size that the sender has stated. */
  expected?: Readonly<{ sha256: string; bytes: number }> | undefined;
  signal?: AbortSignal | undefined;
}>;

export type SpooledContent = Spooled & Readonly<{ digests: Digests }>;

const hashNames = ["md5", "sha1", "sha256", "sha512"] as const;
type HashName = (typeof hashNames)[number];

const writeBytes = 256 * 1024;
/** Data is synced in steps of this size while more arrives, so that the last sync is short. */
const syncBytes = 4 * 1024 ** 2;
/** A sync occupies a thread of the pool that all file operations share. */
const syncs = new Limit({ name: "blob.syncs", total: 1, whenFull: "wait", keepsTurn: true });

/**
 * Writes the bytes to a new file of the directory as they come, no faster than the disk takes them,
 * and computes their digests on the way. Whatever goes wrong, nothing is left behind.
 *
 * @throws Refusal 413 `blob.too_large`, `project.full`, 422 `blob.digest_mismatch`, `blob.size_mismatch`; what the
 *   source throws
 */
export async function spool(
  source: Readable,
  directory: string,
  options: SpoolOptions,
): Promise<SpooledContent> {
  const { digestOf, ...spooled } = await spoolFrom(source, directory, options, hashNames);
  const [md5, sha1, sha256, sha512] = hashNames.map(digestOf) as [string, string, string, string];
  return { ...spooled, digests: { md5, sha1, sha256, sha512 } };
}

/**
 * Writes the bytes as `spool` does and computes the SHA-256 only: all four digests take twice as long.
 *
 * @throws as `spool`
 */
export async function spoolPlain(
  source: Readable,
  directory: string,
  options: SpoolOptions,
): Promise<Spooled> {
  const { file, digest, bytes } = await spoolFrom(source, directory, options, ["sha256"]);
  return { file, digest, bytes };
}

async function spoolFrom(
  source: Readable,
  directory: string,
  { bytesMax, room, expected, signal }: SpoolOptions,
  names: readonly HashName[],
): Promise<Spooled & Readonly<{ digestOf: (name: HashName) => string }>> {
  // An error before the first read would end the process; the read reports it as well.
  source.on("error", () => undefined);
  await room?.reach(1);
  await mkdir(directory, { recursive: true });
  const file = path.join(directory, randomUUID());
  // md5 and sha1 are for callers that need them; content is identified by sha256.
  const hashes = names.map((name) => createHash(name));
  // Opened before anything can go wrong: a file that is opened late would come after its removal.
  const handle = await open(file, "wx");
  if (signal !== undefined) addAbortSignal(signal, source);
  try {
    const bytes = await write(source, { handle, hashes, bytesMax, room });
    await handle.sync();
    await handle.close();
    const digests = new Map(hashes.map((hash, index) => [names[index], hash.digest("hex")]));
    const digestOf = (name: HashName): string => digests.get(name) ?? "";
    const digest = digestOf("sha256");
    if (expected !== undefined) mustBe(expected, { sha256: digest, bytes });
    return { file, digest, bytes, digestOf };
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(file, { force: true });
    throw error;
  }
}

type Sink = Readonly<{ handle: FileHandle; hashes: readonly Hash[] }> &
  Pick<SpoolOptions, "bytesMax" | "room">;

/** Hashes arriving chunks while earlier ones are written. @returns the number of bytes */
async function write(source: Readable, { handle, hashes, bytesMax, room }: Sink): Promise<number> {
  let bytes = 0;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let writing: Promise<void> = Promise.resolve();
  let syncing: Promise<void> = Promise.resolve();
  let syncedBytes = 0;
  const flush = async (): Promise<void> => {
    await writing;
    if (bytes - syncedBytes >= syncBytes && syncs.inUse === 0) {
      syncedBytes = bytes;
      syncing = Promise.all([syncing, syncs.run(() => handle.datasync())]).then(() => undefined);
      syncing.catch(() => undefined);
    }
    writing = writeAll(handle, waiting);
    // The waiting caller receives the error.
    writing.catch(() => undefined);
    waiting = [];
    waitingBytes = 0;
  };
  try {
    for await (const piece of source as AsyncIterable<Buffer | string>) {
      const chunk = typeof piece === "string" ? Buffer.from(piece) : piece;
      bytes += chunk.length;
      if (bytes > bytesMax) {
        throw new Refusal("too_large", "blob.too_large", `The content is over ${bytesMax} bytes.`);
      }
      await room?.reach(bytes);
      for (const hash of hashes) hash.update(chunk);
      waiting.push(chunk);
      waitingBytes += chunk.length;
      if (waitingBytes >= writeBytes) await flush();
    }
    if (waiting.length > 0) await flush();
  } finally {
    // The file is not closed while something is written to it.
    await Promise.allSettled([writing, syncing]);
  }
  // A failed sync is reported once: a later one of the same file would say that all is well.
  await Promise.all([writing, syncing]);
  return bytes;
}

/** A single `writev` may write only a part of the bytes. */
async function writeAll(handle: FileHandle, chunks: readonly Buffer[]): Promise<void> {
  const { bytesWritten } = await handle.writev(chunks);
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  if (bytesWritten < bytes) await handle.writeFile(Buffer.concat(chunks).subarray(bytesWritten));
}

type Measured = Readonly<{ sha256: string; bytes: number }>;

function mustBe(expected: Measured, actual: Measured): void {
  if (actual.bytes !== expected.bytes) {
    const message = `${actual.bytes} bytes came, not ${expected.bytes}.`;
    throw new Refusal("unprocessable", "blob.size_mismatch", message);
  }
  if (actual.sha256 !== expected.sha256) {
    const message = "The content is not what its object id says.";
    throw new Refusal("unprocessable", "blob.digest_mismatch", message);
  }
}

/** Removes files of dead processes: no upload takes as long as such a file is old. */
export async function removeOlder(directory: string, before: Date): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names) {
    const file = path.join(directory, name);
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && found.mtime < before)
      await rm(file, { recursive: true, force: true });
  }
}
