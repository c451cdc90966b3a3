import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { buffer } from "node:stream/consumers";

import { badFile } from "../core/coordinates.ts";
import { manifestBytesMax, manifestText } from "../core/manifest-text.ts";
import { isFile, tarReader } from "../core/tar-reader.ts";
import { endMark, unpackedBzip2 } from "./bzip2.ts";

/** conda-build and rattler-build write the folder `info` first, and the smallest files of it before others. */
const searchedBytesMax = 64 * 1024 ** 2;

/**
 * The text of a file of the first version of conda's format, found among what the archive begins with: to
 * unpack gigabytes would take minutes of a processor.
 *
 * @throws Refusal 422
 */
export async function tarBz2Text(file: string, wanted: string): Promise<string> {
  const handle = await open(file);
  try {
    await mustBeWhole(handle);
  } finally {
    await handle.close();
  }
  const packed = createReadStream(file);
  try {
    return manifestText(await foundIn(unpackedBzip2(packed), wanted), wanted);
  } finally {
    packed.destroy();
  }
}

/** An archive of bzip2 ends with a mark, a sum of 32 bits and what fills its last byte. */
async function mustBeWhole(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat();
  const last = Buffer.alloc(Math.min(11, size));
  await handle.read(last, 0, last.length, size - last.length);
  const bits = BigInt(`0x0${last.toString("hex")}`);
  const endsAt = (fill: number): boolean =>
    ((bits >> BigInt(32 + fill)) & 0xffffffffffffn) === BigInt(endMark);
  if (![0, 1, 2, 3, 4, 5, 6, 7].some(endsAt)) throw badFile("It is not bzip2, or it is cut.");
}

async function foundIn(unpacked: AsyncIterable<Buffer>, wanted: string): Promise<Buffer> {
  let found: Buffer | undefined;
  const reader = await tarReader((entry) => {
    if (!isFile(entry) || entry.path.replace(/^\.\//, "") !== wanted) return undefined;
    if (entry.size > manifestBytesMax) {
      throw badFile(`Its ${wanted} is over ${manifestBytesMax} bytes.`);
    }
    return async (content) => {
      found ??= await buffer(content);
    };
  });
  let searched = 0;
  for await (const chunk of unpacked) {
    searched += chunk.length;
    if (searched > searchedBytesMax) break;
    await reader.write(chunk);
    if (found !== undefined) return found;
  }
  if (searched <= searchedBytesMax) await reader.end();
  if (found !== undefined) return found;
  throw badFile(`It holds no ${wanted} in its first ${searchedBytesMax} bytes.`);
}
