import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { RandomAccessReader } from "yauzl";

/** An archive of which parts are fetched, as from S3. */
export type ZipSource = Readonly<{
  bytes: number;
  /** Both ends included. */
  read: (range: Readonly<{ first: number; last: number }>) => Promise<Readable>;
}>;

/** The list of files is read in many small steps, which are served from what was fetched for the first of them. */
const fetchBytes = 256 * 1024;
/** Of lists of files, and what stands before the files: that of 100,000 files has 15 MiB. */
const listBytesMax = 64 * 1024 ** 2;

type Reader = Readonly<{
  reader: RandomAccessReader;
  /** The error of the source, where one ended the reading; those of the archive's form are not among them. */
  failure: () => unknown;
}>;

/** Makes of it what yauzl reads from. @param Base of that library, which is loaded at its first use */
export function zipReader(source: ZipSource, Base: typeof RandomAccessReader): Reader {
  let failure: unknown;
  let fetched = { start: 0, bytes: Buffer.alloc(0) };
  let bytesLeft = listBytesMax;

  async function* pieces(start: number, end: number): AsyncGenerator<Buffer> {
    try {
      yield* await source.read({ first: start, last: end - 1 });
    } catch (error) {
      failure = error;
      throw error;
    }
  }

  async function part(start: number, length: number): Promise<Buffer> {
    const isThere =
      start >= fetched.start && start + length <= fetched.start + fetched.bytes.length;
    if (!isThere) {
      const end = Math.min(source.bytes, start + Math.max(length, fetchBytes));
      if (end < start + length) throw new Error("It ends early.");
      bytesLeft -= end - start;
      if (bytesLeft < 0) throw new Error(`Its list of files has over ${listBytesMax} bytes.`);
      fetched = { start, bytes: await buffer(pieces(start, end)) };
    }
    const from = start - fetched.start;
    return fetched.bytes.subarray(from, from + length);
  }

  class SourceReader extends Base {
    override read(
      ...[into, offset, length, position, done]: Parameters<RandomAccessReader["read"]>
    ) {
      part(position, length).then((bytes) => {
        bytes.copy(into, offset);
        done(null);
      }, done);
    }

    override _readStreamForRange(start: number, end: number): Readable {
      return Readable.from(pieces(start, end));
    }
  }

  return { reader: new SourceReader(), failure: () => failure };
}
