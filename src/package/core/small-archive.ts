import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createGunzip } from "node:zlib";

import { Refusal } from "../../platform/refusal.ts";
import { badFile } from "./coordinates.ts";
import { entryPaths } from "./entry-path.ts";
import { isFile, tarReader, unpacksTo } from "./tar-reader.ts";

export type Compression = "none" | "gzip" | "xz" | "zstd";

const entriesMax = 10_000;

/** Unpacks what is small and in memory. @throws Refusal 422 when it is more than `bytesMax` */
export async function inflated(
  packed: Buffer,
  compression: Compression,
  bytesMax: number,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const add = (part: Uint8Array): void => {
    bytes += part.length;
    if (bytes > bytesMax) throw unpacksTo(bytesMax);
    parts.push(part);
  };
  try {
    if (compression === "none") add(packed);
    else if (compression === "zstd") await unpackZstd(packed, add);
    else {
      const source = compression === "gzip" ? gunzip(packed) : xz(packed);
      for await (const part of source) add(part);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw badFile(`A part of it is not ${compression}.`);
  }
  return Buffer.concat(parts);
}

const gunzip = (packed: Buffer): Readable => Readable.from([packed]).pipe(createGunzip());

/** Loaded at the first upload of such a package; as CommonJS, which loaders disagree on how to import. */
const xzLibrary = () => createRequire(import.meta.url)("xz-decompress") as XzLibrary;
type XzLibrary = typeof import("xz-decompress");

function xz(packed: Buffer): AsyncIterable<Uint8Array> {
  const library = xzLibrary();
  const source = new Blob([new Uint8Array(packed)]).stream() as unknown as Web;
  return new library.XzReadableStream(source) as unknown as AsyncIterable<Uint8Array>;
}

type Web = ConstructorParameters<XzLibrary["XzReadableStream"]>[0];

async function unpackZstd(packed: Buffer, add: (part: Uint8Array) => void): Promise<void> {
  const { Decompress } = await import("fzstd");
  const stream = new Decompress(add);
  const step = 64 * 1024;
  for (let at = 0; at < packed.length; at += step) {
    stream.push(packed.subarray(at, at + step), at + step >= packed.length);
  }
}

/**
 * The one file of this path in a tar archive that is in memory, and whose other paths lead
 * nowhere. Undefined when there is none.
 *
 * @throws Refusal 422
 */
export async function tarFile(archive: Buffer, wanted: string): Promise<Buffer | undefined> {
  const pathOf = entryPaths(entriesMax);
  let found: Buffer | undefined;
  const reader = await tarReader((entry) => {
    const path = pathOf(entry.type === "Directory" ? `${entry.path}/` : entry.path);
    if (path !== wanted) return undefined;
    if (!isFile(entry)) throw badFile(`Its ${wanted} is no file.`);
    return async (content) => {
      found = await buffer(content);
    };
  });
  await reader.write(archive);
  await reader.end();
  return found;
}
