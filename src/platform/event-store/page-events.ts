import type { Recorded } from "../../events/core/event.ts";

/** Fields of `ReadResp` and of the messages in it; see streams.proto of EventStoreDB. */
const eventOf = { readResp: 1, readEvent: 1 } as const;
const field = {
  id: 1,
  stream: 2,
  revision: 3,
  commitPosition: 5,
  property: 6,
  metadata: 7,
  data: 8,
};
const idText = 2;
const streamName = 3;
const property = { name: 1, value: 2 } as const;

/** Of the numbers that are times, in units of 100 ns: these are left out for milliseconds. */
const digitsBelowMs = 4;

/**
 * The events of a message of `pageMethod`, in the port's shape. Through objects of the generated classes each event
 * takes several times as long (https://protobuf.dev/programming-guides/encoding/).
 */
export function eventsIn(message: Buffer): readonly Recorded[] {
  const events: Recorded[] = [];
  const reader = new FieldReader(message);
  while (reader.at < message.length) {
    if (reader.next() !== eventOf.readResp) continue;
    const { end } = reader;
    reader.enter();
    while (reader.at < end) {
      if (reader.next() !== eventOf.readEvent) continue;
      const recordEnd = reader.end;
      reader.enter();
      events.push(recordedIn(reader, recordEnd));
    }
  }
  return events;
}

/** `RecordedEvent`, which ends there. */
function recordedIn(reader: FieldReader, end: number): Recorded {
  let [id, stream, type, created, contentType] = ["", "", "", "", ""];
  let [revision, position] = [0n, 0n];
  let data: Buffer = nothing;
  let metadata: Buffer = nothing;
  while (reader.at < end) {
    switch (reader.next()) {
      case field.id:
        id = reader.only(idText);
        break;
      case field.stream:
        stream = reader.only(streamName);
        break;
      case field.revision:
        revision = reader.number();
        break;
      case field.commitPosition:
        position = reader.number();
        break;
      case field.property: {
        const [name, value] = reader.property();
        if (name === "type") type = value;
        else if (name === "created") created = value;
        else if (name === "content-type") contentType = value;
        break;
      }
      case field.metadata:
        metadata = reader.bytes();
        break;
      case field.data:
        data = reader.bytes();
    }
  }
  // The envelope was checked when the event was made; slices parse the data when they decode it.
  return {
    id,
    type,
    data: contentType === "application/json" ? jsonIn(data, textOf) : data,
    metadata: metadata.length === 0 ? undefined : jsonIn(metadata, itself),
    stream,
    revision,
    position,
    recordedAt: new Date(Number(created.slice(0, -digitsBelowMs))),
  } as unknown as Recorded;
}

const nothing = Buffer.alloc(0);

const textOf = (bytes: Buffer): string => bytes.toString("utf8");
const itself = (bytes: Buffer): Buffer => bytes;

/** What is no JSON is given as the official client does. */
function jsonIn(bytes: Buffer, otherwise: (bytes: Buffer) => unknown): unknown {
  try {
    return JSON.parse(textOf(bytes));
  } catch {
    return otherwise(bytes);
  }
}

const wireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** Goes through the fields of a message and of those within it. */
class FieldReader {
  readonly #buffer: Buffer;
  /** Behind the field that was read last. */
  at = 0;
  /** Where the bytes of that field begin and end. */
  #start = 0;
  end = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  /** Reads the next field. @returns its number */
  next(): number {
    const tag = this.#small();
    const type = tag & 7;
    this.#start = this.at;
    if (type === wireType.bytes) {
      const length = this.#small();
      this.#start = this.at;
      this.at += length;
    } else if (type === wireType.varint) {
      while ((this.#buffer[this.at] ?? 0) > 127) this.at += 1;
      this.at += 1;
    } else if (type === wireType.fixed64) this.at += 8;
    else if (type === wireType.fixed32) this.at += 4;
    else throw new Error(`The event store gave a field of type ${type}`);
    this.end = this.at;
    if (this.end > this.#buffer.length) throw new Error("The event store gave half of a message");
    return tag >>> 3;
  }

  /** Goes on with the fields of the message that was read. */
  enter(): void {
    this.at = this.#start;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(this.#start, this.end);
  }

  text(): string {
    return this.#buffer.toString("utf8", this.#start, this.end);
  }

  /** The number that was read, of 64 bits. */
  number(): bigint {
    const length = this.end - this.#start;
    let value = 0;
    const fitting = Math.min(length, 7);
    for (let index = fitting - 1; index >= 0; index -= 1) {
      value = value * 128 + ((this.#buffer[this.#start + index] ?? 0) & 127);
    }
    let all = BigInt(value);
    for (let index = 7; index < length; index += 1) {
      all |= BigInt((this.#buffer[this.#start + index] ?? 0) & 127) << BigInt(7 * index);
    }
    return all;
  }

  /** The text of one field of the message that was read. */
  only(number: number): string {
    const { end } = this;
    this.enter();
    let text = "";
    while (this.at < end) if (this.next() === number) text = this.text();
    return text;
  }

  /** The entry of a map of texts that was read. */
  property(): readonly [name: string, value: string] {
    const { end } = this;
    this.enter();
    let [name, value] = ["", ""];
    while (this.at < end) {
      const number = this.next();
      if (number === property.name) name = this.text();
      else if (number === property.value) value = this.text();
    }
    return [name, value];
  }

  /** A length or a tag. */
  #small(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#buffer[this.at] ?? 0;
      this.at += 1;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }
}
