import { isUtf8 } from "node:buffer";
import type { FileHandle } from "node:fs/promises";
import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createDeflateRaw, deflateRawSync } from "node:zlib";

const uint16Max = 0xffff;
const uint32Max = 0xffff_ffff;
/** Sizes of larger files get 64 bits: one that is read may grow meanwhile. */
const largeBytes = 0xf000_0000;
const version = 45;
const unix = 3;
/** Says that a name is UTF-8. Others are stored without it as they are, as zip and gitlab-runner do. */
const utf8Flag = 0x0800;
const stored = 0;
const deflated = 8;
const directoryAttribute = 0x10;
const slashByte = 0x2f;

export type About = Readonly<{ mode: number; mtime: Date }>;

type Content = Readonly<{ method: number; crc: number; packed: number; bytes: number }>;

/**
 * Writes a ZIP archive into a file, entry after entry, with as much work for the last as for the first: an archive of
 * 100,000 files is usual for caches. Nothing is written behind an entry that is not in its head, so every reader takes it.
 */
export class ZipWriter {
  readonly #file: FileHandle;
  readonly #directory: Buffer[] = [];
  #at = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** @param name with slashes, and one at the end of a directory's */
  async add(name: Buffer, about: About, content: Buffer): Promise<void> {
    const packed = deflateRawSync(content);
    const isSmaller = packed.length < content.length;
    const body = isSmaller ? packed : content;
    const method = isSmaller ? deflated : stored;
    const sizes = { packed: body.length, bytes: content.length };
    const entry = { method, crc: crc32(content), ...sizes };
    const start = this.#at;
    await this.#append(localHeader(name, about, entry, false), body);
    this.#directory.push(centralHeader(name, about, entry, start));
  }

  /** @param bytesExpected of the content, as far as it is known */
  async addStream(
    name: Buffer,
    about: About,
    { content, bytesExpected }: Readonly<{ content: Readable; bytesExpected: number }>,
  ): Promise<void> {
    const isLarge = bytesExpected > largeBytes;
    const start = this.#at;
    let entry: Content = { method: deflated, crc: 0, packed: 0, bytes: 0 };
    await this.#append(localHeader(name, about, entry, isLarge));
    const begin = this.#at;
    const counted = new PassThrough();
    counted.on("data", (piece: Buffer) => {
      entry = { ...entry, crc: crc32(piece, entry.crc), bytes: entry.bytes + piece.length };
    });
    // The pipeline would name what followed from it.
    let problem: unknown;
    const append = async (piece: Buffer): Promise<void> => {
      await this.#append(piece).catch((error: unknown) => {
        problem = error;
        throw error;
      });
    };
    await pipeline(content, counted, createDeflateRaw(), async (pieces: AsyncIterable<Buffer>) => {
      for await (const piece of pieces) await append(piece);
    }).catch((error: unknown) => {
      throw problem ?? error;
    });
    entry = { ...entry, packed: this.#at - begin };
    const grew = Math.max(entry.bytes, entry.packed) > uint32Max && !isLarge;
    if (grew) throw new Error(`${name} grew while it was read.`);
    await this.#writeAt(localHeader(name, about, entry, isLarge), start);
    this.#directory.push(centralHeader(name, about, entry, start));
  }

  /** Writes the list of entries. The file is for its owner to close. */
  async end(): Promise<void> {
    const at = this.#at;
    const count = this.#directory.length;
    await this.#append(...this.#directory);
    const bytes = this.#at - at;
    await this.#append(...endOf({ count, bytes, at }));
  }

  async #append(...parts: readonly Buffer[]): Promise<void> {
    const whole = Buffer.concat(parts);
    await this.#writeAt(whole, this.#at);
    this.#at += whole.length;
  }

  async #writeAt(data: Buffer, position: number): Promise<void> {
    let done = 0;
    while (done < data.length) {
      const rest = data.length - done;
      done += (await this.#file.write(data, done, rest, position + done)).bytesWritten;
    }
  }
}

/** As MS-DOS counts: two-second steps from 1980 on. */
function dosTime(mtime: Date): readonly [time: number, date: number] {
  const year = Math.min(2107, Math.max(1980, mtime.getFullYear()));
  const time = (mtime.getHours() << 11) | (mtime.getMinutes() << 5) | (mtime.getSeconds() >> 1);
  return [time, ((year - 1980) << 9) | ((mtime.getMonth() + 1) << 5) | mtime.getDate()];
}

/** Fields that both headers of an entry have in this order, from the version to the length of the name. */
function common(name: Buffer, { mtime }: About, entry: Content, isLarge: boolean): Buffer {
  if (name.length > uint16Max) throw new Error(`${name.subarray(0, 100)}… is too long.`);
  const fields = Buffer.alloc(24);
  const [time, date] = dosTime(mtime);
  fields.writeUInt16LE(version, 0);
  fields.writeUInt16LE(isUtf8(name) ? utf8Flag : 0, 2);
  fields.writeUInt16LE(entry.method, 4);
  fields.writeUInt16LE(time, 6);
  fields.writeUInt16LE(date, 8);
  fields.writeUInt32LE(entry.crc, 10);
  fields.writeUInt32LE(isLarge ? uint32Max : entry.packed, 14);
  fields.writeUInt32LE(isLarge ? uint32Max : entry.bytes, 18);
  fields.writeUInt16LE(name.length, 22);
  return fields;
}

/** The extra field of ZIP64: numbers that need more than 32 bits. */
function extraOf(numbers: readonly number[]): Buffer {
  if (numbers.length === 0) return Buffer.alloc(0);
  return Buffer.concat([uint16(1), uint16(8 * numbers.length), ...numbers.map(uint64)]);
}

function localHeader(name: Buffer, about: About, entry: Content, isLarge: boolean): Buffer {
  const extra = extraOf(isLarge ? [entry.bytes, entry.packed] : []);
  const fields = common(name, about, entry, isLarge);
  return Buffer.concat([uint32(0x04034b50), fields, uint16(extra.length), name, extra]);
}

function centralHeader(name: Buffer, about: About, entry: Content, start: number): Buffer {
  const isLarge = Math.max(entry.bytes, entry.packed) > largeBytes;
  const isFar = start >= uint32Max;
  const extra = extraOf([
    ...(isLarge ? [entry.bytes, entry.packed] : []),
    ...(isFar ? [start] : []),
  ]);
  const attributes = name.at(-1) === slashByte ? directoryAttribute : 0;
  return Buffer.concat([
    uint32(0x02014b50),
    uint16((unix << 8) | version),
    common(name, about, entry, isLarge),
    uint16(extra.length),
    // No comment, the first disk, no internal attributes.
    Buffer.alloc(6),
    uint32((((about.mode & uint16Max) << 16) | attributes) >>> 0),
    uint32(isFar ? uint32Max : start),
    name,
    extra,
  ]);
}

type End = Readonly<{ count: number; bytes: number; at: number }>;

function endOf({ count, bytes, at }: End): readonly Buffer[] {
  const needs64 = count >= uint16Max || bytes >= uint32Max || at >= uint32Max;
  const made = [uint16((unix << 8) | version), uint16(version)];
  const record64 = [
    ...[uint32(0x06064b50), uint64(44), ...made, uint32(0), uint32(0)],
    ...[uint64(count), uint64(count), uint64(bytes), uint64(at)],
    ...[uint32(0x07064b50), uint32(0), uint64(at + bytes), uint32(1)],
  ];
  const entryCount = uint16(Math.min(count, uint16Max));
  return [
    ...(needs64 ? record64 : []),
    ...[uint32(0x06054b50), uint16(0), uint16(0), entryCount, entryCount],
    ...[uint32(Math.min(bytes, uint32Max)), uint32(Math.min(at, uint32Max)), uint16(0)],
  ];
}

function uint16(value: number): Buffer {
  const field = Buffer.alloc(2);
  field.writeUInt16LE(value);
  return field;
}

function uint32(value: number): Buffer {
  const field = Buffer.alloc(4);
  field.writeUInt32LE(value);
  return field;
}

function uint64(value: number): Buffer {
  const field = Buffer.alloc(8);
  field.writeBigUInt64LE(BigInt(value));
  return field;
}
