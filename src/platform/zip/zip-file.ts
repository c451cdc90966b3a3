import { buffer } from "node:stream/consumers";
import type { Entry } from "yauzl";

const entriesMax = 100_000;
const modeMask = 0o170000;
const linkMode = 0o120000;

/**
 * The content of the first file with this path in a zip archive. Undefined when there is none, or it is a link or has
 * more bytes than that; also for what is no zip archive.
 */
export async function readZipFile(
  archive: Buffer,
  path: string,
  bytesMax: number,
): Promise<Buffer | undefined> {
  // Loaded at the first archive that is read.
  const { default: yauzl } = await import("yauzl");
  try {
    const zip = await yauzl.fromBufferPromise(archive, { autoClose: false, lazyEntries: true });
    if (zip.entryCount > entriesMax) return undefined;
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName !== path) continue;
      if (isLink(entry) || entry.uncompressedSize > bytesMax) return undefined;
      // More bytes than the size says end the stream with an error.
      return await buffer(await zip.openReadStreamPromise(entry));
    }
    return undefined;
  } catch {
    // The archive is in memory: what fails is its form.
    return undefined;
  }
}

/** By the mode that the list of files gives it. */
export const isLink = ({ externalFileAttributes }: Entry): boolean =>
  ((externalFileAttributes >>> 16) & modeMask) === linkMode;
