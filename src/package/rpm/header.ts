import { type FileHandle, open } from "node:fs/promises";

import { badFile } from "../core/coordinates.ts";

/** Of the index and the data of one header; packages with a hundred thousand files have some MiB. */
const headerBytesMax = 64 * 1024 ** 2;
const entriesMax = 10_000;
/** Of all tags that are read: a hundred thousand files have four hundred thousand. */
const valuesMax = 500_000;

const leadBytes = 96;
const leadMagic = 0xedabeedb;
const headerMagic = 0x8eade801;
const introBytes = 16;
const entryBytes = 16;

/** Values by tag: rpm.org, "RPM v4 header format". */
export type RpmHeader = Readonly<{
  /** The text of a tag, or the first one; empty when it is not there. */
  text: (tag: number) => string;
  texts: (tag: number) => readonly string[];
  numbers: (tag: number) => readonly number[];
}>;

export type RpmFile = Readonly<{
  isSource: boolean;
  signature: RpmHeader;
  header: RpmHeader;
  /** Where the header stands in the file. */
  start: number;
  end: number;
}>;

/** Reads what precedes the payload of an .rpm. @throws Refusal 422 */
export async function readRpmHeaders(file: string): Promise<RpmFile> {
  const handle = await open(file, "r");
  try {
    const lead = await bytesAt(handle, 0, leadBytes);
    if (lead.readUInt32BE(0) !== leadMagic) throw badFile("It is no package of RPM.");
    const signature = await headerAt(handle, leadBytes);
    const start = Math.ceil(signature.end / 8) * 8;
    const { content, end } = await headerAt(handle, start);
    const isSource = lead.readUInt16BE(6) === 1;
    return {
      isSource,
      signature: parseRpmHeader(signature.content),
      header: parseRpmHeader(content),
      start,
      end,
    };
  } finally {
    await handle.close();
  }
}

async function bytesAt(handle: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, at);
  if (bytesRead < bytes) throw badFile("It is cut.");
  return buffer;
}

async function headerAt(handle: FileHandle, at: number) {
  const intro = await bytesAt(handle, at, introBytes);
  if (intro.readUInt32BE(0) !== headerMagic) throw badFile("It has no header of RPM.");
  const bytes = introBytes + intro.readUInt32BE(8) * entryBytes + intro.readUInt32BE(12);
  const { size } = await handle.stat();
  if (bytes > headerBytesMax || at + bytes > size) throw badFile("Its header is out of bounds.");
  return { content: await bytesAt(handle, at, bytes), end: at + bytes };
}

type Entry = Readonly<{ type: number; at: number; count: number }>;

/** @throws Refusal 422 when it is malformed */
export function parseRpmHeader(content: Buffer): RpmHeader {
  const count = content.readUInt32BE(8);
  if (count > entriesMax) throw badFile("Its header has too many entries.");
  const data = content.subarray(introBytes + count * entryBytes);
  const entries = new Map<number, Entry>();
  for (let index = 0; index < count; index += 1) {
    const at = introBytes + index * entryBytes;
    const [tag, type] = [content.readUInt32BE(at), content.readUInt32BE(at + 4)];
    const entry = { type, at: content.readUInt32BE(at + 8), count: content.readUInt32BE(at + 12) };
    if (entry.at > data.length) {
      throw badFile("An entry of its header is out of bounds.");
    }
    // Readers take the first; which one is meant is unknown.
    if (entries.has(tag)) throw badFile("Its header has an entry twice.");
    entries.set(tag, entry);
  }
  // Entries can share their bytes. Of real headers each is read twice at most.
  const left: Left = { values: valuesMax, bytes: data.length * 2 };
  const texts = (tag: number): readonly string[] => {
    const entry = entries.get(tag);
    return entry === undefined ? [] : textsOf(data, entry, left);
  };
  return {
    texts,
    text: (tag) => texts(tag)[0] ?? "",
    numbers(tag) {
      const entry = entries.get(tag);
      return entry === undefined ? [] : numbersOf(data, entry, left);
    },
  };
}

/** What may still be read of a header. */
type Left = { values: number; bytes: number };

function take(left: Left, part: keyof Left, count: number): void {
  left[part] -= count;
  if (left[part] < 0) throw badFile("Its header has too many values.");
}

const textTypes = new Set([6, 8, 9]);
const decoder = new TextDecoder("utf-8", { fatal: true });

function textsOf(data: Buffer, { type, at, count }: Entry, left: Left): readonly string[] {
  if (!textTypes.has(type)) throw badFile("An entry of its header is of another type.");
  const values = type === 6 ? 1 : count;
  take(left, "values", values);
  const found: string[] = [];
  for (let from = at; found.length < values; ) {
    const end = data.indexOf(0, from);
    if (end < 0) throw badFile("A text of its header is cut.");
    take(left, "bytes", end - from);
    found.push(decoded(data.subarray(from, end)));
    from = end + 1;
  }
  return found;
}

function decoded(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw badFile("Its header is not UTF-8.");
  }
}

/** Bytes by type. */
const sizes: Readonly<Record<number, number>> = { 1: 1, 2: 1, 3: 2, 4: 4, 5: 8 };

function numbersOf(data: Buffer, { type, at, count }: Entry, left: Left): readonly number[] {
  const size = sizes[type];
  if (size === undefined || at + count * size > data.length) {
    throw badFile("An entry of its header is of another type or cut.");
  }
  take(left, "values", count);
  return Array.from({ length: count }, (_, index) => {
    const from = at + index * size;
    return size === 8 ? Number(data.readBigUInt64BE(from)) : data.readUIntBE(from, size);
  });
}
