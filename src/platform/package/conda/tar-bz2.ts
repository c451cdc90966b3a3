import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

import { badFile } from "../coordinates.ts";
import { manifestBytesMax, manifestText } from "../manifest-text.ts";
import { endMark, unpackedBzip2 } from "./bzip2.ts";

const tarBlock = 512;
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
  let [pending, skipped, searched] = [Buffer.alloc(0), 0, 0];
  for await (const chunk of unpacked) {
    searched += chunk.length;
    if (searched > searchedBytesMax) break;
    if (skipped >= chunk.length) {
      skipped -= chunk.length;
      continue;
    }
    pending = Buffer.concat([pending, chunk.subarray(skipped)]);
    skipped = 0;
    while (pending.length >= tarBlock && skipped === 0) {
      const { path, size, end } = entryOf(pending);
      if (path === wanted && size > manifestBytesMax) {
        throw badFile(`Its ${wanted} is over ${manifestBytesMax} bytes.`);
      }
      if (path === wanted && pending.length < tarBlock + size) break;
      if (path === wanted) return pending.subarray(tarBlock, tarBlock + size);
      skipped = Math.max(0, end - pending.length);
      pending = pending.subarray(end);
    }
  }
  throw badFile(`It holds no ${wanted} in its first ${searchedBytesMax} bytes.`);
}

/** POSIX ustar; paths over 100 bytes are not of the file that is looked for. */
function entryOf(block: Buffer) {
  const text = (from: number, to: number): string =>
    block.toString("latin1", from, to).replace(/\0.*$/s, "");
  const size = Number.parseInt(text(124, 136).trim() || "0", 8);
  if (!Number.isSafeInteger(size) || size < 0) throw badFile("It is not a tar archive.");
  const isFile = text(156, 157) === "" || text(156, 157) === "0";
  const path = isFile ? text(0, 100).replace(/^\.\//, "") : "";
  return { path, size, end: tarBlock + Math.ceil(size / tarBlock) * tarBlock };
}
