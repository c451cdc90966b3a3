import type { StoredEvent } from "./event.ts";

/** Tags and lengths of the two messages around the event. */
const outerBytesMax = 12;
/** All that is not text or bytes of any length: tags, lengths, the id, numbers, and names of properties. */
const otherBytesMax = 240;

/**
 * The answer of a read that gives one event, as the protocol's `ReadResp` is encoded (streams.proto of EventStoreDB).
 * A log is millions of them: through objects of the message each takes several times as long.
 */
export function eventBytes(event: StoredEvent, structuredIds: boolean): Buffer {
  const { data, metadata } = event;
  const texts = 3 * (event.stream.length + event.type.length);
  const size = outerBytesMax + otherBytesMax + texts + data.length + metadata.length;
  const bytes = new Bytes(Buffer.allocUnsafe(size), outerBytesMax);
  writeRecord(bytes, event, structuredIds);
  const recordEnd = bytes.at;
  bytes.number(0x18, event.position);
  const record = header(recordEnd - outerBytesMax);
  const readEvent = header(bytes.at - outerBytesMax + record.length);
  const start = outerBytesMax - record.length - readEvent.length;
  readEvent.copy(bytes.buffer, start);
  record.copy(bytes.buffer, start + readEvent.length);
  return bytes.buffer.subarray(start, bytes.at);
}

/** Of field 1, a message of this length. */
function header(length: number): Buffer {
  const bytes = new Bytes(Buffer.allocUnsafe(6), 0);
  bytes.tag(0x0a, length);
  return bytes.buffer.subarray(0, bytes.at);
}

/** `RecordedEvent`, its fields in their order; those with their default value are left out. */
function writeRecord(bytes: Bytes, event: StoredEvent, structuredIds: boolean): void {
  if (structuredIds) writeStructuredId(bytes, event.id);
  else {
    bytes.tag(0x0a, event.id.length + 2);
    bytes.text(0x12, event.id);
  }
  const stream = Buffer.byteLength(event.stream);
  bytes.tag(0x12, 1 + varintLength(stream) + stream);
  bytes.text(0x1a, event.stream);
  if (event.revision !== 0n) bytes.number(0x18, event.revision);
  if (event.position !== 0n) bytes.number(0x20, event.position);
  if (event.position !== 0n) bytes.number(0x28, event.position);
  property(bytes, "content-type", event.isJson ? "application/json" : "application/octet-stream");
  property(bytes, "created", event.created.toString());
  property(bytes, "type", event.type);
  if (event.metadata.length > 0) bytes.bytes(0x3a, event.metadata);
  if (event.data.length > 0) bytes.bytes(0x42, event.data);
}

function writeStructuredId(bytes: Bytes, id: string): void {
  const half = (high: string, low: string) => [parseInt(high, 16), parseInt(low, 16)] as const;
  const most = half(id.slice(0, 8), id.slice(9, 13) + id.slice(14, 18));
  const least = half(id.slice(19, 23) + id.slice(24, 28), id.slice(28));
  // Shorter than 128 bytes each, so that their lengths take one byte, written afterwards.
  const start = bytes.at;
  bytes.at += 4;
  for (const [tag, [high, low]] of [
    [0x08, most],
    [0x10, least],
  ] as const) {
    if (high === 0 && low === 0) continue;
    bytes.byte(tag);
    bytes.varint(low, high);
  }
  const length = bytes.at - start - 4;
  bytes.buffer.set([0x0a, length + 2, 0x0a, length], start);
}

/** An entry of the map of properties; it is sorted by name. */
function property(bytes: Bytes, name: string, value: string): void {
  const length = Buffer.byteLength(value);
  bytes.tag(0x32, 2 + name.length + 1 + varintLength(length) + length);
  bytes.text(0x0a, name);
  bytes.text(0x12, value);
}

function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) length += 1;
  return length;
}

/** Writes fields of a message one after another: https://protobuf.dev/programming-guides/encoding/. */
class Bytes {
  readonly buffer: Buffer;
  at: number;

  constructor(buffer: Buffer, at: number) {
    this.buffer = buffer;
    this.at = at;
  }

  byte(value: number): void {
    this.buffer[this.at] = value;
    this.at += 1;
  }

  /** Of 64 bits; the parts are unsigned. */
  varint(lowPart: number, highPart: number): void {
    let [low, high] = [lowPart, highPart];
    while (high > 0 || low > 127) {
      this.byte((low & 127) | 128);
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    this.byte(low);
  }

  number(tag: number, value: bigint): void {
    this.byte(tag);
    this.varint(Number(BigInt.asUintN(32, value)), Number(BigInt.asUintN(32, value >> 32n)));
  }

  tag(tag: number, length: number): void {
    this.byte(tag);
    this.varint(length, 0);
  }

  text(tag: number, text: string): void {
    this.tag(tag, Buffer.byteLength(text));
    this.at += this.buffer.write(text, this.at, "utf8");
  }

  bytes(tag: number, bytes: Uint8Array): void {
    this.tag(tag, bytes.length);
    this.buffer.set(bytes, this.at);
    this.at += bytes.length;
  }
}
