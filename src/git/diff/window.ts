import { decoded, noNewline, type PatchLine, type RawLine } from "./patch.ts";

/** A part of the lines of a diff: so many, from the one with this number, counted from 0. */
export type LineRange = Readonly<{ offset: number; limit: number }>;

export type LineWindow = Readonly<{
  lines: readonly PatchLine[];
  /** Of the whole diff. */
  total: number;
  /** Lines of the old and the new file that stand before the window. */
  before: Readonly<{ removed: number; added: number }>;
}>;

/** Of a large diff a longer line is cut: what is held grows with the number of lines alone. */
export const lineBytesMax = 4_096;
const newline = 0x0a;
const nothing: Buffer = Buffer.alloc(0);

/** The part of lines that are in memory whole. */
export function windowOf(all: readonly PatchLine[], { offset, limit }: LineRange): LineWindow {
  const lines = all.slice(offset, offset + limit);
  return { lines, total: all.length, before: numbersAfter(all.slice(0, offset)) };
}

type Numbers = LineWindow["before"];

function numbersAfter(lines: readonly PatchLine[], start: Numbers = { removed: 0, added: 0 }) {
  const after = { ...start };
  for (const { removed, added } of lines) {
    after.removed = removed ?? after.removed;
    after.added = added ?? after.added;
  }
  return after;
}

/** Parts begin at multiples of this, so that one diff has few of them, whatever ranges are requested. */
export const partLines = 3_000;

/**
 * A part of the lines of a diff, put together from parts that begin at fixed places.
 *
 * @param partAt gives `partLines` lines from a multiple of it
 */
export async function windowFrom(
  { offset, limit }: LineRange,
  partAt: (offset: number) => Promise<LineWindow>,
): Promise<LineWindow> {
  const start = offset - (offset % partLines);
  const first = await partAt(start);
  const lines = first.lines.slice(offset - start, offset - start + limit);
  const { total } = first;
  const before = numbersAfter(first.lines.slice(0, offset - start), first.before);
  const end = Math.min(offset + limit, total);
  for (let at = start + partLines; at < end; at += partLines) {
    lines.push(...(await partAt(at)).lines.slice(0, end - at));
  }
  return { lines, total, before };
}

/**
 * Keeps a part of the lines of a diff that streams by, and counts the others, in memory that does not grow with
 * the diff.
 */
export class WindowReader {
  readonly #range: LineRange;
  readonly #lines: PatchLine[] = [];
  #before = { removed: 0, added: 0 };
  #total = 0;
  /** The line that has not ended yet, at most as much of it as is kept. */
  #open = nothing;
  #isOpen = false;

  /** @param bytesMax of a line: what is beyond is cut off */
  constructor(
    range: LineRange,
    readonly bytesMax = Number.POSITIVE_INFINITY,
  ) {
    this.#range = range;
  }

  /** @param read gives the line of the diff that a line of text represents, if any */
  push(chunk: Buffer, read: (line: Buffer) => RawLine | undefined): void {
    let position = 0;
    while (position < chunk.length) {
      const end = chunk.indexOf(newline, position);
      const until = end < 0 ? chunk.length : end;
      const part = chunk.subarray(position, until);
      if (end < 0) this.#hold(part);
      else this.#finish(read, part);
      position = until + 1;
    }
  }

  /** Ends a text. @returns whether its last line had a newline */
  endText(read: (line: Buffer) => RawLine | undefined): boolean {
    if (!this.#isOpen) return true;
    this.#finish(read);
    return false;
  }

  end(): LineWindow {
    return { lines: this.#lines, total: this.#total, before: this.#before };
  }

  /** Git's remark on the line before. */
  remark(): void {
    this.#take(noNewline);
  }

  #hold(part: Buffer): void {
    this.#isOpen = true;
    const room = this.bytesMax - this.#open.length;
    // Copied: a line kept must not keep the whole chunk.
    if (room > 0 && part.length > 0) {
      this.#open = Buffer.concat([this.#open, part.subarray(0, room)]);
    }
  }

  /** @param rest of the line; most are whole in one chunk, and are not copied: there may be millions */
  #finish(read: (line: Buffer) => RawLine | undefined, rest = nothing): void {
    if (this.#open.length > 0) this.#hold(rest);
    const whole = this.#open.length > 0 ? this.#open : rest;
    const raw = read(whole.subarray(0, this.bytesMax));
    this.#open = nothing;
    this.#isOpen = false;
    if (raw !== undefined) this.#take(raw);
  }

  #take(raw: RawLine): void {
    const { offset, limit } = this.#range;
    const index = this.#total;
    this.#total += 1;
    if (index >= offset && index < offset + limit) {
      this.#lines.push(decoded({ ...raw, body: this.#withoutHalf(raw.body) }));
    } else if (index < offset) {
      this.#before.removed = raw.removed ?? this.#before.removed;
      this.#before.added = raw.added ?? this.#before.added;
    }
  }

  /** Of a line that was cut, without the first bytes of a character whose last ones are gone (RFC 3629). */
  #withoutHalf(line: Buffer): Buffer {
    if (line.length < this.bytesMax - 1) return line;
    for (let back = 1; back <= 3; back += 1) {
      const byte = line.at(-back) ?? 0;
      if (byte < 0x80) return line;
      const bytes = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 0;
      if (bytes > 0) return bytes > back ? line.subarray(0, -back) : line;
    }
    return line;
  }
}
