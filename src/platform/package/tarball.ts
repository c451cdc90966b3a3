import { once } from "node:events";
import { createReadStream } from "node:fs";
import { posix } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { Parser, ReadEntry } from "tar";

import { Refusal } from "../refusal.ts";
import { badFile } from "./coordinates.ts";
import { entryPaths, shadowOf } from "./entry-path.ts";
import { manifestBytesMax, manifestText } from "./manifest-text.ts";

/** Packages unpack to some MiB; a small archive can hold a thousand times itself. */
const inflatedBytesMax = 1024 ** 3;
const gzipMagic = 0x1f8b;
/** Packages have some thousand files; the largest of npm some ten thousand. */
const entriesMax = 100_000;

type Wanted = Readonly<{
  /** Of the path within the archive. */
  path: RegExp;
  /** The file in words. */
  name: string;
  /** Links to what is in the archive itself are refused unless they are taken; devices always are. */
  takesLinks?: boolean;
}>;

/**
 * The text of the one file of a gzipped tar archive whose path fits, read by npm's own reader. All of
 * the archive is looked through, because two such files could be read in two ways, and what clients unpack must
 * not lead out of their directory.
 *
 * @throws Refusal 422
 */
export async function readTarEntry(
  file: string,
  { path, name, takesLinks = false }: Wanted,
  bytesMax = inflatedBytesMax,
): Promise<string> {
  const found: Buffer[][] = [];
  // Loaded at the first upload of a tarball.
  const tar = await import("tar");
  const parser = new tar.Parser({ brotli: false, zstd: false });
  const state: State = { refused: undefined, ended: false };
  const refuse = (why: unknown): void => {
    state.refused ??= why;
  };
  const pathOf = entryPaths(entriesMax);
  const isShadow = shadowOf(path);
  parser.on("entry", (entry: ReadEntry) => {
    if (!path.test(entry.path)) {
      try {
        mustStayInside(entry, pathOf, takesLinks);
        if (isShadow(entry.path)) refuse(badFile(`It holds more than one ${name}.`));
      } catch (error) {
        refuse(error);
      }
      return void entry.resume();
    }
    if (found.length > 0) refuse(badFile(`It holds more than one ${name}.`));
    if (!/^(?:Old)?File$/.test(entry.type)) refuse(badFile(`Its ${name} is no file.`));
    if (entry.size > manifestBytesMax) refuse(tooLarge(name));
    if (state.refused !== undefined) return void entry.resume();
    const chunks: Buffer[] = [];
    found.push(chunks);
    entry.on("data", (chunk: Buffer) => void chunks.push(chunk));
  });
  parser.on("warn", (code: string, message: string) => {
    if (code !== "TAR_ENTRY_INFO") refuse(badFile(`It is not a tar archive: ${message}.`));
  });
  parser.on("error", refuse);
  // Bytes after the end are not read and would accumulate in memory.
  parser.on("eof", () => {
    state.ended = true;
  });
  await parse(file, bytesMax, parser, state);
  const [chunks] = found;
  if (chunks === undefined) throw badFile(`It holds no ${name}.`);
  return manifestText(Buffer.concat(chunks), name);
}

/** @throws Refusal 422 */
function mustStayInside(
  entry: ReadEntry,
  pathOf: (path: string) => string,
  takesLinks: boolean,
): void {
  const { type, linkpath = "" } = entry;
  const path = pathOf(type === "Directory" ? `${entry.path}/` : entry.path);
  if (type === "Directory" || /^(?:Old|Contiguous)?File$/.test(type)) return;
  const isLink = type === "Link" || type === "SymbolicLink";
  if (!isLink || !takesLinks) throw badFile("It holds a link or a device.");
  // A hard link names a path of the archive, a symbolic one starts where it stands.
  const target = posix.join(type === "Link" ? "" : posix.dirname(path), linkpath);
  if (posix.isAbsolute(linkpath) || target === ".." || target.startsWith("../")) {
    throw badFile("It holds a link that leads out of it.");
  }
}

type State = { refused: unknown; ended: boolean };

async function parse(file: string, bytesMax: number, parser: Parser, state: State): Promise<void> {
  let begun = false;
  await pipeline(createReadStream(file), createGunzip(), bounded(bytesMax), async (chunks) => {
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      if (!begun && !isPlain(chunk)) state.refused = compressedTwice();
      begun = true;
      if (state.refused !== undefined) throw state.refused;
      if (!state.ended && !parser.write(chunk)) await once(parser, "drain");
    }
  }).catch((error: unknown) => {
    // What is thrown in there comes out as an abort.
    throw refusalOf(state.refused ?? error);
  });
  const ended = once(parser, "end");
  parser.end();
  await ended;
  if (state.refused !== undefined) throw refusalOf(state.refused);
}

/** What is compressed once more the reader would inflate, beyond these bounds. */
export const isPlain = (first: Buffer): boolean =>
  first.length >= 2 && first.readUInt16BE(0) !== gzipMagic;

export const compressedTwice = (): Refusal =>
  badFile("It is not a tar archive that was compressed once.");

/** What is wrong with the archive itself; anything else is ours. */
export function refusalOf(error: unknown): unknown {
  if (error instanceof Refusal || !(error instanceof Error)) return error;
  const { code = "" } = error as NodeJS.ErrnoException;
  if (!code.startsWith("Z_") && !code.startsWith("TAR_")) return error;
  return badFile(`It is not a gzipped tar archive: ${error.message}.`);
}

export function bounded(bytesMax: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= bytesMax) done(null, chunk);
      else done(badFile(`It unpacks to more than ${bytesMax} bytes.`));
    },
  });
}

const tooLarge = (name: string): Refusal =>
  badFile(`Its ${name} is over ${manifestBytesMax} bytes.`);
