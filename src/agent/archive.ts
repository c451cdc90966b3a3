import {
  closeSync,
  constants,
  createReadStream,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { lstat, mkdir, open, rm, symlink } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import type { Entry, ZipFile } from "yauzl";

import { breather } from "../platform/breather.ts";
import { below, type FoundFile, makeParents } from "./file-tree.ts";
import { ZipWriter } from "./zip-writer.ts";

const typeMask = 0o170000;
const linkType = 0o120000;
const fileType = 0o100000;
const permissions = 0o777;

/** What an archive may unpack to: a small one can hold petabytes. */
const unpackedBytesMax = 64 * 1024 ** 3;
const entriesMax = 500_000;
const linkBytesMax = 4_096;
const slash = 0x2f;

/** Files up to this size are handled in memory, by calls that block: most files of an archive are small. */
const smallBytesMax = 64 * 1024;

export type Packing = Readonly<{
  /** The archive; it is made. */
  target: string;
  /** Ends the work. What was written by then stays. */
  signal?: AbortSignal | undefined;
}>;

/**
 * Writes a ZIP archive of files below a directory; links are kept as links, and names as they are.
 *
 * @throws Error for files that no agent would unpack: one without content, of petabytes, takes no room on the disk
 */
export async function writeZip(
  root: string,
  files: readonly FoundFile[],
  { target, signal }: Packing,
): Promise<void> {
  const handle = await open(target, "wx", 0o600);
  try {
    const archive = new ZipWriter(handle);
    const breathe = breather();
    let left = unpackedBytesMax;
    for (const { path: relative, kind } of files) {
      await breathe();
      signal?.throwIfAborted();
      const file = below(root, relative);
      if (kind === "file") {
        left -= await addFile(archive, relative, { file, left, signal });
        continue;
      }
      const { mode, mtime } = lstatSync(file);
      if (kind === "directory") {
        const name = Buffer.concat([relative, Buffer.from("/")]);
        await archive.add(name, { mode, mtime }, Buffer.alloc(0));
      } else {
        const link = readlinkSync(file, { encoding: "buffer" });
        await archive.add(relative, { mode: linkType | permissions, mtime }, link);
      }
    }
    await archive.end();
  } finally {
    await handle.close();
  }
}

type Adding = Readonly<{ file: Buffer; left: number; signal: AbortSignal | undefined }>;

/**
 * Adds a file, not what a link leads to.
 *
 * @returns its bytes
 */
async function addFile(
  archive: ZipWriter,
  name: Buffer,
  { file, left, signal }: Adding,
): Promise<number> {
  const descriptor = openSync(file, readFlags);
  // Its stream closes a file also when the archive fails; closed twice, it could be another one by then.
  let content: Readable | undefined;
  try {
    const status = fstatSync(descriptor);
    if (status.size > left) throw new Error(`The files are over ${unpackedBytesMax} bytes.`);
    const about = { mode: fileType | (status.mode & permissions), mtime: status.mtime };
    if (status.size <= smallBytesMax) {
      await archive.add(name, about, readFileSync(descriptor));
      return status.size;
    }
    content = createReadStream("", { fd: descriptor, start: 0, ...(signal && { signal }) });
    await archive.addStream(name, about, { content, bytesExpected: status.size });
    return status.size;
  } finally {
    if (content === undefined) closeSync(descriptor);
    else content.destroy();
  }
}

const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Unpacks a ZIP archive below a directory. What is there already is replaced.
 *
 * @throws Error for an entry that would lie elsewhere, and, before anything is written, for archives beyond the limits
 */
export async function unpackZip(file: string, root: string, signal?: AbortSignal): Promise<number> {
  await mustFit(file);
  const archive = await openZip(file);
  const descriptor = openSync(file, readFlags);
  const parents = new Set<string>();
  const breathe = breather();
  try {
    for await (const entry of archive.eachEntry()) {
      await breathe();
      signal?.throwIfAborted();
      const target = await makeParents(root, entry.fileNameRaw, parents);
      if (isSmall(entry)) {
        const { fileDataStart } = await localHeaderOf(archive, entry);
        unpackSmall(entry, target, contentOf(descriptor, entry, fileDataStart));
      } else {
        const content = () => archive.openReadStreamPromise(entry);
        await unpackEntry(entry, target, { content, signal });
      }
    }
    return archive.entryCount;
  } finally {
    closeSync(descriptor);
    archive.close();
  }
}

async function openZip(file: string): Promise<ZipFile> {
  const { default: yauzl } = await import("yauzl");
  // The names are taken as bytes: makeParents checks them.
  const options = { autoClose: false, lazyEntries: true, decodeStrings: false };
  return yauzl.openPromise(file, options);
}

const nameOf = (entry: Entry): string => entry.fileNameRaw.toString();
const isDirectory = ({ fileNameRaw }: Entry): boolean => fileNameRaw.at(-1) === slash;

/** @throws Error */
async function mustFit(file: string): Promise<void> {
  const archive = await openZip(file);
  try {
    if (archive.entryCount > entriesMax) throw new Error(`More than ${entriesMax} files.`);
    let bytes = 0;
    for await (const entry of archive.eachEntry()) {
      bytes += entry.uncompressedSize;
      if (bytes > unpackedBytesMax) throw new Error("The archive unpacks to too much.");
    }
  } finally {
    archive.close();
  }
}

const typeOf = (entry: Entry): number => (entry.externalFileAttributes >>> 16) & typeMask;
const rightsOf = (entry: Entry): number =>
  (entry.externalFileAttributes >>> 16) & permissions || 0o644;
const createFlags =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A plain file, by one of the two methods that archives of artifacts have. */
function isSmall(entry: Entry): boolean {
  const isPlain = !isDirectory(entry) && typeOf(entry) !== linkType;
  const bytes = Math.max(entry.compressedSize, entry.uncompressedSize);
  const isKnown = entry.compressionMethod === 0 || entry.compressionMethod === 8;
  return isPlain && isKnown && bytes <= smallBytesMax && !entry.isEncrypted();
}

const localHeaderOf = (archive: ZipFile, entry: Entry) =>
  archive.readLocalFileHeaderPromise(entry, { minimal: true });

/** @throws Error when it is not what the list of files says */
function contentOf(descriptor: number, entry: Entry, start: number): Buffer {
  const packed = Buffer.alloc(entry.compressedSize);
  readSync(descriptor, packed, 0, packed.length, start);
  const content = entry.compressionMethod === 0 ? packed : inflated(packed, entry);
  if (content.length === entry.uncompressedSize && crc32(content) === entry.crc32) return content;
  throw new Error(`${nameOf(entry)} is damaged.`);
}

function inflated(packed: Buffer, entry: Entry): Buffer {
  const bytes = entry.uncompressedSize;
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, bytes) });
  } catch (error) {
    const isLarger = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    const how = isLarger ? `has too many bytes: the archive says ${bytes}` : "is damaged";
    throw new Error(`${nameOf(entry)} ${how}.`);
  }
}

function unpackSmall(entry: Entry, target: Buffer, content: Buffer): void {
  // A directory stays, and the next line fails.
  rmSync(target, { force: true });
  const descriptor = openSync(target, createFlags, rightsOf(entry));
  try {
    fchmodSync(descriptor, rightsOf(entry));
    writeFileSync(descriptor, content);
  } finally {
    closeSync(descriptor);
  }
}

type Unpacking = Readonly<{
  content: () => Promise<Readable>;
  signal: AbortSignal | undefined;
}>;

async function unpackEntry(
  entry: Entry,
  target: Buffer,
  { content, signal }: Unpacking,
): Promise<void> {
  if (isDirectory(entry)) {
    const existing = await lstat(target).catch(() => undefined);
    if (existing === undefined) await mkdir(target, { mode: 0o755 });
    else if (!existing.isDirectory()) throw new Error(`${nameOf(entry)} is no directory here.`);
    return;
  }
  // A directory stays, and what follows fails.
  await rm(target, { force: true });
  if (typeOf(entry) === linkType) {
    if (entry.uncompressedSize > linkBytesMax) throw new Error(`${nameOf(entry)} is too long.`);
    await symlink(await buffer(await content()), target);
    return;
  }
  const handle = await open(target, createFlags, rightsOf(entry));
  try {
    await handle.chmod(rightsOf(entry));
    const reading = await content();
    const writing: Writable = handle.createWriteStream();
    await pipeline(reading, writing, { ...(signal && { signal }) });
  } finally {
    // The stream has closed it where one was made.
    await handle.close();
  }
}

const reportBytesMax = 100 * 1024 ** 2;
/** RFC 1952: magic, deflate, a name follows, no time, no flags, Unix. */
const gzipHeader = Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]);

/** Reports as gzip: a member for each file, with its name. */
export async function writeGzip(
  root: string,
  files: readonly FoundFile[],
  { target, signal }: Packing,
): Promise<void> {
  const handle = await open(target, "wx", 0o600);
  try {
    let left = reportBytesMax;
    for (const { path: relative } of files) {
      signal?.throwIfAborted();
      const content = await readPlain(below(root, relative), left);
      left -= content.length;
      const end = Buffer.alloc(8);
      end.writeUInt32LE(crc32(content), 0);
      end.writeUInt32LE(content.length, 4);
      const name = Buffer.concat([relative, Buffer.from("\0")]);
      await handle.write(Buffer.concat([gzipHeader, name, deflateRawSync(content), end]));
    }
  } finally {
    await handle.close();
  }
}

async function readPlain(file: Buffer, bytesMax: number): Promise<Buffer> {
  const handle = await open(file, readFlags);
  try {
    const { size } = await handle.stat();
    if (size > bytesMax) throw new Error(`Reports are over ${reportBytesMax} bytes.`);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}
