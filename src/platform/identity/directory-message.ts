import type { Readable } from "node:stream";

/** Bytes after which the length of a message has at most four more. */
const headerBytes = 2;
const lengthBytesMax = 4;

/**
 * Hands on the messages that a directory sends one by one, each of them whole. The library copies what it has of a
 * message for each piece that comes, and calls itself for each further message of a piece.
 *
 * @param bytesMax of all messages; the connection is destroyed beyond it
 */
export function joinMessages(socket: Readable, bytesMax: number): void {
  const push = socket.push.bind(socket);
  let received = 0;
  let held = Buffer.alloc(0);
  let length = 0;
  const hold = (piece: Buffer): void => {
    if (length + piece.length > held.length) {
      const grown = Buffer.allocUnsafe(Math.max(2 * held.length, length + piece.length));
      held.copy(grown, 0, 0, length);
      held = grown;
    }
    length += piece.copy(held, length);
  };
  socket.push = (piece: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (piece === null) return push(piece, encoding);
    received += piece.length;
    if (received > bytesMax) {
      socket.destroy(new Error("The directory answered too much."));
      return false;
    }
    hold(piece);
    let takesMore = true;
    let start = 0;
    const next = (): number => endOf(held, start, length);
    for (let end = next(); end <= length && !socket.destroyed; end = next()) {
      takesMore = push(held.subarray(start, end));
      start = end;
    }
    // What was handed on may be kept, so its bytes are not written again.
    if (start > 0) held = Buffer.from(held.subarray(start, length));
    length -= start;
    return takesMore;
  };
}

/** Where the message that begins at `start` ends; RFC 4511, 5.1. Infinity while too little of it has come. */
function endOf(bytes: Buffer, start: number, end: number): number {
  const contentStart = start + headerBytes;
  if (end < contentStart) return Infinity;
  const first = bytes.readUInt8(start + 1);
  if (first < 0x80) return contentStart + first;
  const count = first - 0x80;
  // No length that LDAP has: the library refuses it.
  if (count === 0 || count > lengthBytesMax) return end;
  if (end < contentStart + count) return Infinity;
  return contentStart + count + bytes.readUIntBE(contentStart, count);
}
