import { createHash, type Hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";

export type LineFile = Readonly<{
  lines: number;
  /** Of the file as it is stored, hex. */
  sha256: string;
}>;

/** A line is an event or a row at most; longer ones were not written by this program. */
const lineLengthMax = 64 * 1024 ** 2;

/** Writes lines into a new file, as gzip, as fast as the disk takes them. */
export async function writeLineFile(
  file: string,
  lines: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<LineFile> {
  let count = 0;
  async function* counted(): AsyncGenerator<string> {
    for await (const line of lines) {
      count += 1;
      yield `${line}\n`;
    }
  }
  const hash = createHash("sha256");
  const sink = createWriteStream(file, { mode: 0o600, flush: true, flags: "wx" });
  await pipeline(Readable.from(counted()), createGzip({ level: 5 }), hashedBy(hash), sink, {
    signal,
  });
  return { lines: count, sha256: hash.digest("hex") };
}

/** Hands on what it gets. */
export const hashedBy = (hash: Hash): Transform =>
  new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });

/** A file of lines is not as it was written: it is cut off, or was changed. */
export class DamagedFile extends Error {
  override readonly name = "DamagedFile";
}

/**
 * Lines of a file, inflated when its name ends in .gz, one after another.
 *
 * @throws DamagedFile; Error when the file is missing
 */
export async function* readLineFile(file: string): AsyncGenerator<string> {
  const source = createReadStream(file, { highWaterMark: 256 * 1024 });
  const bytes = file.endsWith(".gz") ? source.pipe(createGunzip()) : source;
  source.on("error", (error) => bytes.destroy(error));
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let rest = "";
  try {
    for await (const chunk of bytes) {
      const [first = "", ...more] = decoder.decode(chunk as Buffer, { stream: true }).split("\n");
      rest += first;
      if (rest.length > lineLengthMax) throw new DamagedFile(`${file} has a line that is too long`);
      for (const line of more) {
        yield rest;
        rest = line;
      }
    }
    rest += decoder.decode();
    if (rest !== "") yield rest;
  } catch (error) {
    throw damageOf(file, error) ?? error;
  } finally {
    source.destroy();
  }
}

/** Undefined: the content is not why it cannot be read. */
function damageOf(file: string, error: unknown): DamagedFile | undefined {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return new DamagedFile(`${file} is not UTF-8`);
  // Of zlib.
  if (code?.startsWith("Z_")) return new DamagedFile(`${file} cannot be inflated (${message})`);
  return undefined;
}

/** SHA-256 of a file, hex. */
export async function digestOfFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}
