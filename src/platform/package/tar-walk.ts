import { once } from "node:events";
import { createReadStream } from "node:fs";
import { PassThrough, type Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { Parser, ReadEntry } from "tar";

import { badFile } from "./coordinates.ts";
import { entryPaths, shadowOf } from "./entry-path.ts";
import { manifestBytesMax, manifestText } from "./manifest-text.ts";
import { bounded, compressedTwice, isPlain, refusalOf } from "./tarball.ts";

export type TarEntry = Readonly<{ path: string; bytes: number; isFile: boolean }>;

export type TarWalk = Readonly<{
  compression: "gzip" | "none";
  entriesMax?: number;
  /** Of everything in it. */
  bytesMax?: number;
  /** Links and devices are refused unless they are taken. */
  takesLinks?: boolean;
  /** Given for every entry; what it answers reads the content to its end. @throws Refusal */
  entry: (entry: TarEntry) => ((content: Readable) => Promise<void>) | undefined;
}>;

const entriesMaxUsual = 100_000;
const bytesMaxUsual = 1024 ** 3;

/**
 * Walks through a whole tar archive, refusing what unpacks to too much, leads out of it or would be read in
 * two ways.
 *
 * @throws Refusal 422
 */
export async function walkTar(file: string, walk: TarWalk): Promise<void> {
  // Loaded at the first upload of such an archive.
  const tar = await import("tar");
  const parser = new tar.Parser({ brotli: false, zstd: false });
  const state: State = { refused: undefined, ended: false, readings: [] };
  const refuse = (why: unknown): void => {
    state.refused ??= why;
  };
  const pathOf = entryPaths(walk.entriesMax ?? entriesMaxUsual, { foldsCase: true });
  parser.on("entry", (entry: ReadEntry) => {
    try {
      const read = state.refused === undefined ? reader(entry, walk, pathOf) : undefined;
      if (read === undefined) return void entry.resume();
      const content = new PassThrough();
      state.readings.push(
        read(content).catch((error: unknown) => {
          refuse(error);
          content.resume();
        }),
      );
      entry.pipe(content);
    } catch (error) {
      refuse(error);
      entry.resume();
    }
  });
  parser.on("warn", (code: string, message: string) => {
    if (code !== "TAR_ENTRY_INFO") refuse(badFile(`It is not a tar archive: ${message}.`));
  });
  parser.on("error", refuse);
  parser.on("eof", () => {
    state.ended = true;
  });
  await parse(file, walk, parser, state);
}

type State = { refused: unknown; ended: boolean; readings: Promise<void>[] };

function reader(entry: ReadEntry, { takesLinks = false, entry: given }: TarWalk, pathOf: PathOf) {
  const path = pathOf(entry.type === "Directory" ? `${entry.path}/` : entry.path);
  const isFile = /^(?:Old|Contiguous)?File$/.test(entry.type);
  if (!isFile && entry.type !== "Directory" && !takesLinks) {
    throw badFile("It holds a link or a device.");
  }
  return path === "" ? undefined : given({ path, bytes: entry.size, isFile });
}

type PathOf = (path: string) => string;

async function parse(file: string, walk: TarWalk, parser: Parser, state: State): Promise<void> {
  const { compression, bytesMax = bytesMaxUsual } = walk;
  let begun = false;
  const consume = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) {
      if (!begun && !isPlain(chunk)) state.refused = compressedTwice();
      begun = true;
      if (state.refused !== undefined) throw state.refused;
      if (!state.ended && !parser.write(chunk)) await once(parser, "drain");
    }
  };
  const unpacked = compression === "gzip" ? createGunzip() : new PassThrough();
  await pipeline(createReadStream(file), unpacked, bounded(bytesMax), (chunks) =>
    consume(chunks as AsyncIterable<Buffer>),
  ).catch((error: unknown) => {
    throw refusalOf(state.refused ?? error);
  });
  const ended = once(parser, "end");
  parser.end();
  await ended;
  await Promise.all(state.readings);
  if (state.refused !== undefined) throw refusalOf(state.refused);
}

export type WantedFile = Readonly<{
  path: RegExp;
  /** In words. */
  name: string;
  bytesMax?: number;
}>;

/** The text of the one file whose path fits, of an archive that is walked through. @throws Refusal 422 */
export async function tarFileText(
  file: string,
  { path, name, bytesMax = manifestBytesMax }: WantedFile,
  walk: Omit<TarWalk, "entry">,
  check: (entry: TarEntry) => void = () => undefined,
): Promise<string> {
  const found: { bytes?: Buffer } = {};
  const isShadow = shadowOf(path);
  await walkTar(file, {
    ...walk,
    entry(entry) {
      check(entry);
      if (isShadow(entry.path)) throw badFile(`It holds more than one ${name}.`);
      if (!path.test(entry.path)) return undefined;
      if (!entry.isFile) throw badFile(`Its ${name} is no file.`);
      if (found.bytes !== undefined) throw badFile(`It holds more than one ${name}.`);
      if (entry.bytes > bytesMax) throw badFile(`Its ${name} is over ${bytesMax} bytes.`);
      found.bytes = Buffer.alloc(0);
      return async (content) => {
        found.bytes = await buffer(content);
      };
    },
  });
  if (found.bytes === undefined) throw badFile(`It holds no ${name}.`);
  return manifestText(found.bytes, name);
}
