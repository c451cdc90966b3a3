import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createGunzip } from "node:zlib";

import { Refusal } from "../refusal.ts";
import { badFile } from "./coordinates.ts";
import { entryPaths } from "./entry-path.ts";
import { bounded } from "./tarball.ts";

export type Compression = "none" | "gzip" | "xz" | "zstd";

const entriesMax = 10_000;
const tarBlock = 512;

/** Unpacks what is small and in memory. @throws Refusal 422 when it is more than `bytesMax` */
export async function inflated(
  packed: Buffer,
  compression: Compression,
  bytesMax: number,
): Promise<Buffer> {
  try {
    switch (compression) {
      case "none":
        return packed;
      case "gzip":
        return await gathered(Readable.from([packed]).pipe(createGunzip()), bytesMax);
      case "xz":
        return await gathered(xz(packed), bytesMax);
      default:
        return await zstd(packed, bytesMax);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw badFile(`A part of it is not ${compression}.`);
  }
}

async function gathered(stream: Readable, bytesMax: number): Promise<Buffer> {
  const limit = bounded(bytesMax);
  stream.on("error", (error) => limit.destroy(error));
  return await buffer(stream.pipe(limit));
}

/** Loaded at the first upload of such a package; as CommonJS, which loaders disagree on how to import. */
const xzLibrary = () => createRequire(import.meta.url)("xz-decompress") as XzLibrary;
type XzLibrary = typeof import("xz-decompress");

function xz(packed: Buffer): Readable {
  const library = xzLibrary();
  const source = new Blob([new Uint8Array(packed)]).stream() as unknown as Web;
  const stream = new library.XzReadableStream(source) as unknown as WebChunks;
  return Readable.from(stream, { objectMode: false });
}

type Web = ConstructorParameters<XzLibrary["XzReadableStream"]>[0];
type WebChunks = AsyncIterable<Uint8Array>;

async function zstd(packed: Buffer, bytesMax: number): Promise<Buffer> {
  const { Decompress } = await import("fzstd");
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const stream = new Decompress((part) => {
    bytes += part.length;
    if (bytes > bytesMax) throw badFile(`A part of it unpacks to over ${bytesMax} bytes.`);
    parts.push(part);
  });
  const step = 64 * 1024;
  for (let at = 0; at < packed.length; at += step) {
    stream.push(packed.subarray(at, at + step), at + step >= packed.length);
  }
  return Buffer.concat(parts);
}

/**
 * The one file of this path in a tar archive that is in memory (POSIX ustar), and whose other paths lead
 * nowhere. Undefined when there is none.
 *
 * @throws Refusal 422
 */
export function tarFile(archive: Buffer, wanted: string): Buffer | undefined {
  const pathOf = entryPaths(entriesMax);
  let found: Buffer | undefined;
  for (let at = 0; at + tarBlock <= archive.length; ) {
    const header = archive.subarray(at, at + tarBlock);
    if (header.every((byte) => byte === 0)) break;
    const text = (from: number, to: number): string =>
      header.toString("latin1", from, to).replace(/\0.*$/s, "");
    const prefix = text(257, 262) === "ustar" ? text(345, 500) : "";
    const type = text(156, 157);
    const size = Number.parseInt(text(124, 136).trim() || "0", 8);
    const end = at + tarBlock + size;
    if (!Number.isSafeInteger(size) || size < 0 || end > archive.length) {
      throw badFile("An archive in it is cut.");
    }
    const isFile = type === "" || type === "0";
    const path = pathOf(`${prefix === "" ? "" : `${prefix}/`}${text(0, 100)}`);
    if (path === wanted) {
      if (!isFile || found !== undefined)
        throw badFile(`Its ${wanted} is no file, or two of them.`);
      found = archive.subarray(at + tarBlock, end);
    }
    at = at + tarBlock + Math.ceil(size / tarBlock) * tarBlock;
  }
  return found;
}
