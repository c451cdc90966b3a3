import * as zlib from "node:zlib";

const blockMax = 128 * 1024;
type Compress = (content: Buffer, done: (error: Error | null, frame: Buffer) => void) => void;

/**
 * The content as a zstd frame (RFC 8878): compressed where Node.js can (22.15 and later), else in blocks as
 * they are, which every reader takes.
 */
export async function zstdFrame(content: Buffer): Promise<Buffer> {
  const { zstdCompress } = zlib as unknown as Readonly<{ zstdCompress?: Compress }>;
  if (zstdCompress === undefined) return rawZstdFrame(content);
  return await new Promise((resolve, reject) => {
    zstdCompress(content, (error, frame) => (error === null ? resolve(frame) : reject(error)));
  });
}

export function rawZstdFrame(content: Buffer): Buffer {
  // A content size of eight bytes, and a window of one block.
  const header = Buffer.alloc(14);
  header.writeUInt32LE(0xfd2fb528, 0);
  header.writeUInt8(0b1100_0000, 4);
  header.writeUInt8((Math.log2(blockMax) - 10) << 3, 5);
  header.writeBigUInt64LE(BigInt(content.length), 6);
  const parts: Buffer[] = [header];
  for (let at = 0; at === 0 || at < content.length; at += blockMax) {
    const block = content.subarray(at, at + blockMax);
    const isLast = at + blockMax >= content.length ? 1 : 0;
    const intro = Buffer.alloc(3);
    intro.writeUIntLE((block.length << 3) | isLast, 0, 3);
    parts.push(intro, block);
  }
  return Buffer.concat(parts);
}
