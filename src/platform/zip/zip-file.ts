import { buffer } from "node:stream/consumers";
import type { Entry, ZipFile } from "yauzl";

import { type ZipSource, zipReader } from "./zip-source.ts";

const entriesMax = 100_000;
/** A file that cannot be made smaller is packed in little more than its own size. */
const packingBytes = 64 * 1024;
const modeMask = 0o170000;
const linkMode = 0o120000;

export type ZipContent =
  | Readonly<{ content: Buffer }>
  | Readonly<{ problem: "missing" | "link" | "too_large" }>
  /** `why` is a sentence about the archive. */
  | Readonly<{ problem: "unreadable"; why: string }>;

/**
 * The content of the first file with this path in a zip archive. No more of the archive is read than its list of files
 * and that one.
 *
 * @throws what the source throws
 */
export async function readZipFile(
  source: ZipSource,
  path: string,
  bytesMax: number,
): Promise<ZipContent> {
  // Loaded at the first archive that is read.
  const { default: yauzl } = await import("yauzl");
  const { reader, failure } = zipReader(source, yauzl.RandomAccessReader);
  // Nothing is written to the disk: odd names of other files do not matter.
  const options = { autoClose: false, lazyEntries: true, decodeStrings: false };
  try {
    const zip = await yauzl.fromRandomAccessReaderPromise(reader, source.bytes, options);
    if (zip.entryCount > entriesMax) {
      return { problem: "unreadable", why: `It has over ${entriesMax} files.` };
    }
    return await contentOf(zip, path, bytesMax);
  } catch (error) {
    const failed = failure();
    if (failed !== undefined) throw failed;
    return { problem: "unreadable", why: error instanceof Error ? error.message : String(error) };
  }
}

async function contentOf(zip: ZipFile, path: string, bytesMax: number): Promise<ZipContent> {
  const wanted = Buffer.from(path);
  for await (const entry of zip.eachEntry()) {
    if (!entry.fileNameRaw.equals(wanted)) continue;
    if (isLink(entry)) return { problem: "link" };
    const isLarge =
      entry.uncompressedSize > bytesMax || entry.compressedSize > bytesMax + packingBytes;
    if (isLarge) return { problem: "too_large" };
    // More bytes than the size says end the stream with an error.
    return { content: await buffer(await zip.openReadStreamPromise(entry)) };
  }
  return { problem: "missing" };
}

/** By the mode that the list of files gives it. */
export const isLink = ({ externalFileAttributes }: Entry): boolean =>
  ((externalFileAttributes >>> 16) & modeMask) === linkMode;
