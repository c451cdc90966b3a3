/**
 * Git's framing: four hex digits that count themselves, then the payload; gitprotocol-common(5).
 * `flush` ends a section and carries nothing.
 */
export const flushPacket = Buffer.from("0000");

const lengthBytes = 4;
/** LARGE_PACKET_MAX of git. */
const packetBytesMax = 65_520;

export class PacketMalformed extends Error {
  override readonly name = "PacketMalformed";
}

export type Packet =
  | Readonly<{ kind: "data"; payload: Buffer; end: number }>
  /** Flush, delimiter or response end; all end a section of what is read here. */
  | Readonly<{ kind: "flush"; end: number }>
  /** The rest has not come yet. */
  | Readonly<{ kind: "partial" }>;

/** The packet that starts at an offset; `end` is where the next one starts. @throws PacketMalformed */
export function packetAt(buffer: Buffer, offset: number): Packet {
  if (buffer.length - offset < lengthBytes) return { kind: "partial" };
  const digits = buffer.toString("latin1", offset, offset + lengthBytes);
  if (!/^[0-9a-f]{4}$/i.test(digits)) throw new PacketMalformed("Not a packet length");
  const length = Number.parseInt(digits, 16);
  if (length < lengthBytes) return { kind: "flush", end: offset + lengthBytes };
  if (length > packetBytesMax) throw new PacketMalformed("Packet too long");
  const end = offset + length;
  if (buffer.length < end) return { kind: "partial" };
  return { kind: "data", payload: buffer.subarray(offset + lengthBytes, end), end };
}

/** @param payload at most 65,516 bytes */
export function packet(payload: string | Buffer): Buffer {
  const bytes = Buffer.from(payload);
  const length = bytes.length + lengthBytes;
  if (length > packetBytesMax) throw new PacketMalformed("Packet too long");
  return Buffer.concat([Buffer.from(length.toString(16).padStart(lengthBytes, "0")), bytes]);
}
