import { once } from "node:events";
import { createReadStream } from "node:fs";
import { PassThrough, type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { ReadEntry } from "tar";

import { Refusal } from "../../platform/refusal.ts";
import { badFile } from "./coordinates.ts";

/** Packages unpack to some MiB; a small archive can hold a thousand times itself. */
export const inflatedBytesMax = 1024 ** 3;
/** Packages have some thousand files; the largest of npm some ten thousand. */
export const entriesMax = 100_000;
const gzipMagic = 0x1f8b;

/** What reads the content of an entry to its end; undefined for one that is passed over. @throws Refusal */
export type TakeEntry = (entry: ReadEntry) => ((content: Readable) => Promise<void>) | undefined;

export const isFile = ({ type }: ReadEntry): boolean => /^(?:Old|Contiguous)?File$/.test(type);

/** Takes a tar archive in pieces and reads it by npm's own reader. */
export async function tarReader(take: TakeEntry) {
  // Loaded at the first upload of such an archive.
  const { Parser } = await import("tar");
  const parser = new Parser({ brotli: false, zstd: false });
  const readings: Promise<void>[] = [];
  let problem: unknown;
  let hasBegun = false;
  let hasEnded = false;
  const refuse = (why: unknown): void => {
    problem ??= why;
  };
  parser.on("entry", (entry: ReadEntry) => {
    try {
      const read = problem === undefined ? take(entry) : undefined;
      if (read === undefined) return void entry.resume();
      const content = new PassThrough();
      const failed = (error: unknown): void => {
        refuse(error);
        content.resume();
      };
      readings.push(read(content).catch(failed));
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
  // Bytes after the end are not read and would accumulate in memory.
  parser.on("eof", () => {
    hasEnded = true;
  });
  return {
    problem: () => problem,
    /** @throws what is wrong with the archive so far */
    async write(chunk: Buffer): Promise<void> {
      // What is compressed once more the reader would inflate, beyond the bounds.
      const isPlain = chunk.length >= 2 && chunk.readUInt16BE(0) !== gzipMagic;
      if (!hasBegun && !isPlain) {
        refuse(badFile("It is not a tar archive that was compressed once."));
      }
      hasBegun = true;
      if (problem !== undefined) throw refusalOf(problem);
      if (!hasEnded && !parser.write(chunk)) await once(parser, "drain");
    },
    /** @throws what is wrong with the archive */
    async end(): Promise<void> {
      const end = once(parser, "end");
      parser.end();
      await end;
      await Promise.all(readings);
      if (problem !== undefined) throw refusalOf(problem);
    },
  };
}

type Unpacking = Readonly<{ compression: "gzip" | "none"; bytesMax: number }>;

/** Reads all of an archive. @throws Refusal 422 */
export async function readTar(
  file: string,
  { compression, bytesMax }: Unpacking,
  take: TakeEntry,
): Promise<void> {
  const reader = await tarReader(take);
  const unpacked = compression === "gzip" ? createGunzip() : new PassThrough();
  try {
    await pipeline(createReadStream(file), unpacked, bounded(bytesMax), async (chunks) => {
      for await (const chunk of chunks as AsyncIterable<Buffer>) await reader.write(chunk);
    });
    await reader.end();
  } catch (error) {
    // What is thrown in the pipeline comes out as an abort.
    throw refusalOf(reader.problem() ?? error);
  }
}

/** What is wrong with the archive itself; anything else is ours. */
function refusalOf(error: unknown): unknown {
  if (error instanceof Refusal || !(error instanceof Error)) return error;
  const { code = "" } = error as NodeJS.ErrnoException;
  if (!code.startsWith("Z_") && !code.startsWith("TAR_")) return error;
  return badFile(`It is not a gzipped tar archive: ${error.message}.`);
}

function bounded(bytesMax: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= bytesMax) done(null, chunk);
      else done(unpacksTo(bytesMax));
    },
  });
}

export const unpacksTo = (bytesMax: number): Refusal =>
  badFile(`It unpacks to more than ${bytesMax} bytes.`);
