import { constants, createWriteStream } from "node:fs";
import { lstat, mkdir, open, readlink, rm, symlink } from "node:fs/promises";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { crc32, deflateRawSync } from "node:zlib";
import type { Entry } from "yauzl";

import { type FoundFile, makeParents } from "./file-tree.ts";

const typeMask = 0o170000;
const linkType = 0o120000;
const fileType = 0o100000;
const permissions = 0o777;

/** What an archive may unpack to: a small one can hold petabytes. */
const unpackedBytesMax = 64 * 1024 ** 3;
const entriesMax = 500_000;
const linkBytesMax = 4_096;

/** Writes a ZIP archive of files below a directory; links are kept as links. */
export async function writeZip(
  root: string,
  files: readonly FoundFile[],
  target: string,
): Promise<void> {
  const { default: yazl } = await import("yazl");
  const archive = new yazl.ZipFile();
  // It is a PassThrough; the declared type is wider.
  const body = archive.outputStream as Readable;
  archive.on("error", (error: Error) => body.destroy(error));
  for (const { path: relative, kind } of files) {
    const file = path.join(root, relative);
    const { mode, mtime } = await lstat(file);
    if (kind === "directory") archive.addEmptyDirectory(relative, { mode, mtime });
    else if (kind === "link") {
      const options = { mode: linkType | permissions, mtime, compress: false };
      archive.addBuffer(Buffer.from(await readlink(file)), relative, options);
    } else {
      const options = { mode: fileType | (mode & permissions), mtime };
      archive.addReadStreamLazy(relative, options, (give) => {
        openPlain(file).then(
          (content) =>
            give(
              null,
              content.once("error", (error) => body.destroy(error)),
            ),
          (error: Error) => body.destroy(error),
        );
      });
    }
  }
  archive.end();
  await pipeline(body, createWriteStream(target, { mode: 0o600, flags: "wx" }));
}

/** A file, not what a link leads to. */
async function openPlain(file: string): Promise<Readable> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  return handle.createReadStream();
}

/**
 * Unpacks a ZIP archive below a directory. What is there already is replaced.
 *
 * @throws Error for an entry that would lie elsewhere, and for archives beyond the limits
 */
export async function unpackZip(file: string, root: string): Promise<number> {
  const { default: yauzl } = await import("yauzl");
  const archive = await yauzl.openPromise(file, { autoClose: false, lazyEntries: true });
  try {
    if (archive.entryCount > entriesMax) throw new Error(`More than ${entriesMax} files.`);
    let bytes = 0;
    for await (const entry of archive.eachEntry()) {
      bytes += entry.uncompressedSize;
      if (bytes > unpackedBytesMax) throw new Error("The archive unpacks to too much.");
      const target = await makeParents(root, entry.fileName.replace(/\/$/, ""));
      await unpackEntry(entry, target, () => archive.openReadStreamPromise(entry));
    }
    return archive.entryCount;
  } finally {
    archive.close();
  }
}

async function unpackEntry(
  entry: Entry,
  target: string,
  content: () => Promise<Readable>,
): Promise<void> {
  const mode = entry.externalFileAttributes >>> 16;
  if (entry.fileName.endsWith("/")) {
    const known = await lstat(target).catch(() => undefined);
    if (known === undefined) await mkdir(target, { mode: 0o755 });
    else if (!known.isDirectory()) throw new Error(`${entry.fileName} is no directory here.`);
    return;
  }
  // A directory stays, and the next line fails.
  await rm(target, { force: true });
  if ((mode & typeMask) === linkType) {
    if (entry.uncompressedSize > linkBytesMax) throw new Error(`${entry.fileName} is too long.`);
    await symlink(await text(await content()), target);
    return;
  }
  const rights = (mode & permissions) === 0 ? 0o644 : mode & permissions;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(target, flags, rights);
  await handle.chmod(rights);
  const writing: Writable = handle.createWriteStream();
  await pipeline(await content(), writing);
}

const reportBytesMax = 100 * 1024 ** 2;
/** RFC 1952: magic, deflate, a name follows, no time, no flags, Unix. */
const gzipHeader = Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]);

/** Reports as gzip: a member for each file, with its name. */
export async function writeGzip(
  root: string,
  files: readonly FoundFile[],
  target: string,
): Promise<void> {
  const handle = await open(target, "wx", 0o600);
  try {
    let left = reportBytesMax;
    for (const { path: relative } of files) {
      const content = await readPlain(path.join(root, relative), left);
      left -= content.length;
      const end = Buffer.alloc(8);
      end.writeUInt32LE(crc32(content), 0);
      end.writeUInt32LE(content.length, 4);
      const name = Buffer.from(`${relative}\0`);
      await handle.write(Buffer.concat([gzipHeader, name, deflateRawSync(content), end]));
    }
  } finally {
    await handle.close();
  }
}

async function readPlain(file: string, bytesMax: number): Promise<Buffer> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = await handle.stat();
    if (size > bytesMax) throw new Error(`Reports are over ${reportBytesMax} bytes.`);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}
