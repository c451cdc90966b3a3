import { badFile } from "../core/coordinates.ts";
import { BitReader } from "./bit-reader.ts";
import { type HuffmanCode, readHuffmanCode, readSymbol } from "./huffman.ts";

const levelBytes = 100_000;
const blockMark = 0x314159265359;
export const endMark = 0x177245385090;
/** A block of 900,000 symbols of 20 bits each, and what stands before them. */
const packedBlockBytesMax = 2_400_000;
const groupSymbols = 50;
const piece = 64 * 1024;
/** Three times those of the smallest size in 64 MiB of text: blocks of a few bytes take as long as larger ones. */
const blocksMax = 2_000;

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc < 0 ? 0x04c11db7 : 0);
  return crc;
});

/**
 * What bzip2 packed, in pieces of at most 64 KiB; several streams in a row are one. It keeps its process busy; see
 * docs/adr/0176-documents-in-processes.md.
 *
 * @throws Refusal 422 when it is not bzip2, is cut, has more than 2,000 blocks, or its sums do not fit
 */
export async function* unpackedBzip2(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const source = new BitReader();
  const chunks = packed[Symbol.asyncIterator]();
  let sorted = new Uint32Array(0);
  let blocks = 0;
  const fill = async (): Promise<boolean> => {
    while (source.bytesLeft < packedBlockBytesMax) {
      const { done, value } = await chunks.next();
      if (done === true) break;
      source.add(value);
    }
    return source.bytesLeft > 0;
  };
  await fill();
  do {
    const symbolsMax = levelOf(source) * levelBytes;
    // Blocks are many, and each would take 3.6 MB anew.
    if (sorted.length !== symbolsMax) sorted = new Uint32Array(symbolsMax);
    for (;;) {
      const mark = source.bits(24) * 2 ** 24 + source.bits(24);
      const sum = ((source.bits(16) << 16) | source.bits(16)) >>> 0;
      if (mark === endMark) break;
      if (mark !== blockMark) throw badFile("It is not bzip2.");
      blocks += 1;
      if (blocks > blocksMax) throw badFile(`Its bzip2 has more than ${blocksMax} blocks.`);
      yield* blockOf(source, sorted, sum);
      await fill();
    }
    source.align();
  } while (await fill());
}

function levelOf(source: BitReader): number {
  const isNamed = source.bits(24) === 0x425a68;
  const level = source.bits(8) - 0x30;
  if (!isNamed || level < 1 || level > 9) throw badFile("It is not bzip2.");
  return level;
}

/** @param sorted is written over, as far as the block has symbols */
function* blockOf(source: BitReader, sorted: Uint32Array, sum: number): Generator<Buffer> {
  if (source.bits(1) === 1) throw badFile("Its bzip2 is of a version before 0.9.5.");
  const origin = source.bits(24);
  const counts = new Uint32Array(256);
  const length = readSymbols(source, sorted, counts);
  if (origin >= length) throw badFile("Its bzip2 is damaged.");
  let total = 0;
  const starts = counts.map((count) => {
    total += count;
    return total - count;
  });
  // Each entry gets, above its byte, the place of the byte that follows in the text.
  for (let at = 0; at < length; at += 1) {
    const byte = (sorted[at] ?? 0) & 0xff;
    const to = starts[byte] ?? 0;
    starts[byte] = to + 1;
    sorted[to] = (sorted[to] ?? 0) | (at << 8);
  }
  yield* unfolded(sorted, { origin, length, sum });
}

type Codes = Readonly<{ codes: readonly HuffmanCode[]; selectors: Uint8Array; used: number[] }>;

function readCodes(source: BitReader): Codes {
  const ranges = source.bits(16);
  const used: number[] = [];
  for (let range = 0; range < 16; range += 1) {
    const within = (ranges & (0x8000 >> range)) === 0 ? 0 : source.bits(16);
    for (let bit = 0; bit < 16; bit += 1) if (within & (0x8000 >> bit)) used.push(range * 16 + bit);
  }
  const groups = source.bits(3);
  const selectors = new Uint8Array(source.bits(15));
  if (used.length === 0 || groups < 2 || groups > 6 || selectors.length === 0) {
    throw badFile("Its bzip2 is damaged.");
  }
  const recent = Array.from({ length: groups }, (_, group) => group);
  for (let at = 0; at < selectors.length; at += 1) {
    let place = 0;
    while (source.bits(1) === 1) place += 1;
    const [group] = recent.splice(place, 1);
    if (group === undefined) throw badFile("Its bzip2 is damaged.");
    recent.unshift(group);
    selectors[at] = group;
  }
  const codes = recent.map(() => readHuffmanCode(source, used.length + 2));
  return { codes, selectors, used };
}

/** Into `sorted` and their numbers into `counts`. @returns how many there are */
function readSymbols(source: BitReader, sorted: Uint32Array, counts: Uint32Array): number {
  const { codes, selectors, used: recent } = readCodes(source);
  const end = recent.length + 1;
  let [length, run, weight] = [0, 0, 1];
  const put = (byte: number, times: number): void => {
    if (length + times > sorted.length) throw badFile("Its bzip2 is damaged.");
    sorted.fill(byte, length, length + times);
    counts[byte] = (counts[byte] ?? 0) + times;
    length += times;
  };
  for (const selector of selectors) {
    const code = codes[selector];
    for (let left = groupSymbols; left > 0 && code !== undefined; left -= 1) {
      const symbol = readSymbol(source, code);
      if (symbol < 2) {
        // Digits of the run's length, which is written to the base 2 with the digits 1 and 2.
        run += weight << symbol;
        weight *= 2;
        if (run > sorted.length) throw badFile("Its bzip2 is damaged.");
        continue;
      }
      if (run > 0) put(recent[0] ?? 0, run);
      [run, weight] = [0, 1];
      if (symbol === end) return length;
      const [byte = 0] = recent.splice(symbol - 1, 1);
      recent.unshift(byte);
      put(byte, 1);
    }
  }
  throw badFile("Its bzip2 is damaged.");
}

type Block = Readonly<{ origin: number; length: number; sum: number }>;

/** The text of a block, in which a count follows each four equal bytes. */
function* unfolded(sorted: Uint32Array, { origin, length, sum }: Block): Generator<Buffer> {
  let out = Buffer.alloc(piece);
  let [filled, crc, equal, last] = [0, -1, 0, -1];
  let next = (sorted[origin] ?? 0) >>> 8;
  for (let at = 0; at < length; at += 1) {
    const entry = sorted[next] ?? 0;
    const byte = entry & 0xff;
    next = entry >>> 8;
    const isCount = equal === 4;
    const times = isCount ? byte : 1;
    const shown = isCount ? last : byte;
    equal = isCount ? 0 : byte === last ? equal + 1 : 1;
    last = isCount ? -1 : byte;
    for (let left = times; left > 0; left -= 1) {
      crc = (crc << 8) ^ (crcTable[(crc >>> 24) ^ shown] ?? 0);
      out[filled] = shown;
      filled += 1;
      if (filled < piece) continue;
      yield out;
      [out, filled] = [Buffer.alloc(piece), 0];
    }
  }
  if (~crc >>> 0 !== sum) throw badFile("Its bzip2 is damaged: a sum does not fit.");
  yield out.subarray(0, filled);
}
