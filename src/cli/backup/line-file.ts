import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StringDecoder } from "node:string_decoder";
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
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  const sink = createWriteStream(file, { mode: 0o600, flush: true, flags: "wx" });
  await pipeline(Readable.from(counted()), createGzip({ level: 5 }), measure, sink, { signal });
  return { lines: count, sha256: hash.digest("hex") };
}

/**
 * Lines of a file, inflated when its name ends in .gz, one after another.
 *
 * @throws Error when the file is missing or cut off
 */
export async function* readLineFile(file: string): AsyncGenerator<string> {
  const source = createReadStream(file, { highWaterMark: 256 * 1024 });
  const bytes = file.endsWith(".gz") ? source.pipe(createGunzip()) : source;
  source.on("error", (error) => bytes.destroy(error));
  const decoder = new StringDecoder("utf8");
  let rest = "";
  try {
    for await (const chunk of bytes) {
      const [first = "", ...more] = decoder.write(chunk as Buffer).split("\n");
      rest += first;
      if (rest.length > lineLengthMax) throw new Error(`A line of ${file} is too long`);
      for (const line of more) {
        yield rest;
        rest = line;
      }
    }
    rest += decoder.end();
    if (rest !== "") yield rest;
  } finally {
    source.destroy();
  }
}

/** SHA-256 of a file, hex. */
export async function digestOfFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}
