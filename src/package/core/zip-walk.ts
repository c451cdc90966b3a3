import { buffer } from "node:stream/consumers";
import type { Entry, ZipFile } from "yauzl";

import { Refusal } from "../../platform/refusal.ts";
import { isLink } from "../../platform/zip/zip-file.ts";
import { badFile } from "./coordinates.ts";
import { entryPaths } from "./entry-path.ts";

export type ZipWalkEntry = Readonly<{ path: string; bytes: number; isFile: boolean }>;

export type ZipWalk = Readonly<{
  entriesMax: number;
  /** Of everything in it, unpacked. */
  bytesMax: number;
  /** Whether the content of this entry is wanted; see `ZipContents`. @throws Refusal */
  entry: (entry: ZipWalkEntry) => boolean;
}>;

/**
 * Walks through the list of files of a zip archive and compares it with what stands before each file:
 * readers differ in which of the two they believe. Returns the contents of the wanted files.
 *
 * @throws Refusal 422
 */
export async function walkZip(file: string, walk: ZipWalk): Promise<ReadonlyMap<string, Buffer>> {
  return withZip(file, walk.entriesMax, (archive) => walkOpen(archive, walk));
}

/** Opens an archive with so many files at most, and closes it. @throws Refusal 422; what `use` throws */
export async function withZip<Result>(
  file: string,
  entriesMax: number,
  use: (archive: ZipFile) => Promise<Result>,
): Promise<Result> {
  // Loaded at the first upload of an archive.
  const { default: yauzl } = await import("yauzl");
  try {
    const archive = await yauzl.openPromise(file, { autoClose: false, lazyEntries: true });
    try {
      if (archive.entryCount > entriesMax) {
        throw badFile(`An archive has at most ${entriesMax} files.`);
      }
      return await use(archive);
    } finally {
      archive.close();
    }
  } catch (error) {
    if (error instanceof Refusal || !isAboutTheArchive(error)) throw error;
    throw badFile(`It is not a zip archive that can be read: ${error.message.replace(/\.$/, "")}.`);
  }
}

/** The library's own errors have no code; those of the disk are ours. */
export function isAboutTheArchive(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code = "" } = error as NodeJS.ErrnoException;
  return code === "" || code.startsWith("Z_");
}

async function walkOpen(
  archive: ZipFile,
  { entriesMax, bytesMax, entry: wanted }: ZipWalk,
): Promise<ReadonlyMap<string, Buffer>> {
  const pathOf = entryPaths(entriesMax, { foldsCase: true });
  const contents = new Map<string, Buffer>();
  let bytes = 0;
  for await (const entry of archive.eachEntry()) {
    const isFile = !entry.fileName.endsWith("/");
    const path = pathOf(entry.fileName);
    bytes += entry.uncompressedSize;
    if (bytes > bytesMax) throw badFile(`It unpacks to more than ${bytesMax} bytes.`);
    await mustBePlain(archive, entry);
    if (!wanted({ path, bytes: entry.uncompressedSize, isFile })) continue;
    // More bytes than the size says end the stream with an error.
    contents.set(path, await buffer(await archive.openReadStreamPromise(entry)));
  }
  return contents;
}

/** No link, and what stands before it says the same as the list of files. @throws Refusal 422 */
export async function mustBePlain(archive: ZipFile, entry: Entry): Promise<void> {
  if (isLink(entry)) throw badFile("It holds a link.");
  const local = await archive.readLocalFileHeaderPromise(entry);
  const isStreamed = (entry.generalPurposeBitFlag & 8) !== 0;
  const agrees =
    Buffer.compare(local.fileName as Buffer, entry.fileNameRaw) === 0 &&
    local.compressionMethod === entry.compressionMethod &&
    (isStreamed || local.crc32 === entry.crc32);
  if (!agrees) throw badFile("Its list of files and the files themselves do not agree.");
}
