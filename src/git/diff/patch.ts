import { isUtf8 } from "node:buffer";

/**
 * Reads what `git diff` prints (git-diff(1), "Generating patch text with -p"). Within a hunk every line
 * begins with one of space, `+`, `-`, `\`, so a line that begins otherwise ends it, and no text of a
 * file can pass for a header.
 */

const newline = 0x0a;
const space = 0x20;
const plus = 0x2b;
const minus = 0x2d;
const at = 0x40;
const lowerD = 0x64;
const upperB = 0x42;

/** Of header lines, which hold paths of 4096 bytes at most, quoted. */
const headerBytesMax = 32 * 1024;

/** What is known of one file's part of a patch without keeping its lines. */
export type PatchSection = Readonly<{
  /** From `diff --git` to the line before the first hunk. */
  headers: readonly string[];
  addedLines: number;
  removedLines: number;
  /** Of all hunks. */
  bytes: number;
  /** Git would not show it: a file with a NUL near its beginning, or over core.bigFileThreshold. */
  isBinary: boolean;
}>;

type Open = { -readonly [Key in keyof PatchSection]: PatchSection[Key] } & { headers: string[] };

/**
 * Counts the lines of a patch as it streams by, in memory that does not grow with the patch: of the
 * hunks only the first byte of each line is read.
 */
export class PatchCounter {
  readonly sections: PatchSection[] = [];
  #section: Open | undefined;
  #inHunk = false;
  /** Whether the next byte is the first of its line. */
  #lineStart = true;
  /** The header line being read; undefined within hunks. */
  #header: Buffer[] | undefined;

  push(chunk: Buffer): void {
    let position = 0;
    while (position < chunk.length) {
      if (this.#lineStart) this.#begin(chunk[position] ?? 0);
      const end = chunk.indexOf(newline, position);
      const next = end < 0 ? chunk.length : end + 1;
      this.#take(chunk, position, end < 0 ? chunk.length : end, next);
      this.#lineStart = end >= 0;
      if (this.#lineStart) this.#finishLine();
      position = next;
    }
  }

  #begin(first: number): void {
    // "diff --git": content begins with none of these, and no other header line with a d but
    // "deleted file mode" and "dissimilarity index", which are distinguished when complete.
    if (this.#inHunk && first === lowerD) this.#inHunk = false;
    if (!this.#inHunk && first === at) this.#inHunk = true;
    if (!this.#inHunk) {
      this.#header = [];
      return;
    }
    if (this.#section === undefined) return;
    if (first === plus) this.#section.addedLines += 1;
    else if (first === minus) this.#section.removedLines += 1;
  }

  #take(chunk: Buffer, from: number, to: number, next: number): void {
    if (this.#header === undefined) {
      if (this.#section !== undefined) this.#section.bytes += next - from;
      return;
    }
    const held = this.#header.reduce((sum, part) => sum + part.length, 0);
    const part = chunk.subarray(from, Math.min(to, from + headerBytesMax - held));
    // Copied: a header kept must not keep the whole chunk.
    if (part.length > 0) this.#header.push(Buffer.from(part));
  }

  #finishLine(): void {
    if (this.#header === undefined) return;
    const line = Buffer.concat(this.#header);
    this.#header = undefined;
    const text = line.toString("utf8");
    if (text.startsWith("diff --git ")) {
      const counts = { addedLines: 0, removedLines: 0, bytes: 0, isBinary: false };
      this.#section = { headers: [], ...counts };
      this.sections.push(this.#section);
    }
    if (this.#section === undefined) return;
    if (line[0] === upperB) this.#section.isBinary = true;
    this.#section.headers.push(text);
  }
}

/** A line of a file's diff; `separator` stands where unchanged lines are left out. */
export type PatchLine = Readonly<{
  type: "line" | "separator";
  op: "none" | "add" | "remove";
  /**
   * Without the newline that ends it, with a carriage return before that. Of a separator, git's `@@`
   * line. A line without numbers is git's remark that the line before it has no newline at its end.
   */
  body: string;
  /** Where the line is in the new file, from 1. */
  added: number | null;
  /** Where it is in the old file. */
  removed: number | null;
}>;

export const noNewline: RawLine = {
  type: "line",
  op: "none",
  body: Buffer.from("\\ No newline at end of file"),
  added: null,
  removed: null,
};

/** A line of a diff whose text is not decoded yet. */
export type RawLine = Omit<PatchLine, "body"> & Readonly<{ body: Buffer }>;

export const decoded = ({ body, ...line }: RawLine): PatchLine => ({
  ...line,
  body: decodeLine(body),
});

/** Reads one file's patch line by line, and counts where each line stands in both files. */
export class HunkReader {
  #inHunk = false;
  #removed = 1;
  #added = 1;

  /** @returns undefined for a line that is no part of what is shown */
  take(bytes: Buffer): RawLine | undefined {
    if (bytes[0] === at) return this.#begin(bytes);
    if (!this.#inHunk) return undefined;
    const body = bytes.subarray(1);
    const [removed, added] = [this.#removed, this.#added];
    switch (bytes[0]) {
      case plus:
        this.#added += 1;
        return { type: "line", op: "add", body, added, removed: null };
      case minus:
        this.#removed += 1;
        return { type: "line", op: "remove", body, added: null, removed };
      case space:
        this.#added += 1;
        this.#removed += 1;
        return { type: "line", op: "none", body, added, removed };
      default:
        return noNewline;
    }
  }

  #begin(bytes: Buffer): RawLine | undefined {
    const { removed, added } = hunkStart(bytes);
    const isGap = removed > this.#removed || added > this.#added;
    this.#removed = removed;
    this.#added = added;
    this.#inHunk = true;
    if (!isGap) return undefined;
    return { type: "separator", op: "none", body: bytes, added: null, removed: null };
  }
}

/** The text of a file by lines, as the lines of its diff are read. */
export const textLines = (content: Buffer): readonly string[] => linesOf(content).map(decodeLine);

/** Some of these lines, and how many there are: a file of 8 MiB may have as many millions. */
export function textLinesIn(
  content: Buffer,
  { first, count }: Readonly<{ first: number; count: number }>,
): Readonly<{ lines: readonly string[]; total: number }> {
  const lines: string[] = [];
  let [total, start] = [0, 0];
  for (let end = 0; end <= content.length; end += 1) {
    const isOver = end === content.length;
    if (isOver ? start === end : content[end] !== newline) continue;
    if (total >= first && lines.length < count) {
      lines.push(decodeLine(content.subarray(start, end)));
    }
    total += 1;
    start = end + 1;
  }
  return { lines, total };
}

function linesOf(content: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  let position = 0;
  while (position < content.length) {
    const end = content.indexOf(newline, position);
    const next = end < 0 ? content.length : end;
    lines.push(content.subarray(position, next));
    position = next + 1;
  }
  return lines;
}

/**
 * Of a line that is not UTF-8 every byte is one character (ISO 8859-1), so that none is lost. Its bytes are checked first: a
 * decoder that throws takes 25 times as long, for each of millions of lines.
 */
const decodeLine = (bytes: Buffer): string => bytes.toString(isUtf8(bytes) ? "utf8" : "latin1");

/** `@@ -1,2 +3,4 @@`: where it begins. A side without lines names the line before it. */
function hunkStart(bytes: Buffer): Readonly<{ removed: number; added: number }> {
  const match = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(bytes.toString("latin1"));
  const [, removed = "1", removedCount = "1", added = "1", addedCount = "1"] = match ?? [];
  return {
    removed: Number(removed) + (removedCount === "0" ? 1 : 0),
    added: Number(added) + (addedCount === "0" ? 1 : 0),
  };
}
