import { badFile } from "../core/coordinates.ts";
import type { BitReader } from "./bit-reader.ts";

const lengthMax = 20;

/** Canonical: codes of one length follow each other, in the order of their symbols. */
export type HuffmanCode = Readonly<{
  lengthMin: number;
  /** By length, the last code of it; -1 where there is none. */
  last: Int32Array;
  /** By length, what a code is above the place of its symbol. */
  offset: Int32Array;
  symbols: Uint16Array;
}>;

/** The lengths of the codes as bzip2 writes them, each as steps from the one before. @throws Refusal 422 */
export function readHuffmanCode(source: BitReader, symbols: number): HuffmanCode {
  let length = source.bits(5);
  const lengths = Uint8Array.from({ length: symbols }, () => {
    for (;;) {
      if (length < 1 || length > lengthMax) throw badFile("Its bzip2 is damaged.");
      if (source.bits(1) === 0) return length;
      length += source.bits(1) === 0 ? 1 : -1;
    }
  });
  return codeOf(lengths);
}

function codeOf(lengths: Uint8Array): HuffmanCode {
  const ordered = [...lengths.keys()].sort(
    (a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0) || a - b,
  );
  const last = new Int32Array(lengthMax + 1).fill(-1);
  const offset = new Int32Array(lengthMax + 1);
  let [code, place] = [0, 0];
  for (let length = 1; length <= lengthMax; length += 1) {
    const count = lengths.reduce((sum, each) => sum + (each === length ? 1 : 0), 0);
    offset[length] = code - place;
    if (count > 0) last[length] = code + count - 1;
    place += count;
    code = (code + count) * 2;
  }
  return { lengthMin: Math.min(...lengths), last, offset, symbols: Uint16Array.from(ordered) };
}

/** @throws Refusal 422 for bits that are no code */
export function readSymbol(source: BitReader, { lengthMin, last, offset, symbols }: HuffmanCode) {
  let code = source.bits(lengthMin);
  for (let length = lengthMin; length <= lengthMax; length += 1) {
    if (code <= (last[length] ?? -1)) {
      const symbol = symbols[code - (offset[length] ?? 0)];
      if (symbol !== undefined) return symbol;
      break;
    }
    code = code * 2 + source.bits(1);
  }
  throw badFile("Its bzip2 is damaged.");
}
