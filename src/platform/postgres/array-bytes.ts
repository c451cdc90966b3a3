/** Types of elements, by their names in PostgreSQL. */
export type ElementType = keyof typeof elements;

type Element = Readonly<{
  /** https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat */
  oid: number;
  /** Bytes that a value takes at most. */
  size: (value: unknown) => number;
  /** @returns bytes written */
  write: (bytes: Buffer, value: unknown, at: number) => number;
}>;

const fixed = (size: number) => () => size;

const elements = {
  bigint: {
    oid: 20,
    size: fixed(8),
    write: (bytes, value, at) => bytes.writeBigInt64BE(BigInt(value as bigint), at) - at,
  },
  boolean: {
    oid: 16,
    size: fixed(1),
    write: (bytes, value, at) => {
      if (typeof value !== "boolean") throw new TypeError("The value is no boolean");
      return bytes.writeUInt8(value ? 1 : 0, at) - at;
    },
  },
  bytea: {
    oid: 17,
    size: (value) => (value as Uint8Array).length,
    write: (bytes, value, at) => {
      if (!(value instanceof Uint8Array)) throw new TypeError("The value has no bytes");
      bytes.set(value, at);
      return value.length;
    },
  },
  smallint: {
    oid: 21,
    size: fixed(2),
    write: (bytes, value, at) => {
      // Of what is none, Node.js writes another number.
      if (!Number.isInteger(value)) throw new TypeError("The number is no integer");
      return bytes.writeInt16BE(value as number, at) - at;
    },
  },
  text: {
    oid: 25,
    // A unit of UTF-16 takes three bytes of UTF-8 at most.
    size: (value) => (value as string).length * 3,
    write: (bytes, value, at) => bytes.write(value as string, at, "utf8"),
  },
  timestamptz: { oid: 1184, size: fixed(8), write: writeTime },
  uuid: { oid: 2950, size: fixed(16), write: writeUuid },
} as const satisfies Readonly<Record<string, Element>>;

const headerBytes = 20;

/**
 * An array as PostgreSQL takes it in its binary format (`array_recv`): neither side writes or reads digits, quotes
 * and escapes, which takes longer than storing the rows. pg sends a Buffer in that format.
 *
 * @throws for a value that is none of the type
 */
export function arrayBytes(type: ElementType, values: readonly unknown[]): Buffer {
  const { oid, size, write }: Element = elements[type];
  if (values.includes(undefined)) throw new TypeError("A value is missing");
  const most = values.reduce<number>((sum, value) => sum + (value === null ? 0 : size(value)), 0);
  const bytes = Buffer.allocUnsafe(headerBytes + 4 * values.length + most);
  // One dimension that begins at 1, and none of an empty array.
  const header = values.length === 0 ? [0, 0, oid] : [1, 1, oid, values.length, 1];
  let at = 0;
  for (const number of header) at = bytes.writeInt32BE(number, at);
  for (const value of values) {
    if (value === null) {
      at = bytes.writeInt32BE(-1, at);
      continue;
    }
    const length = write(bytes, value, at + 4);
    bytes.writeInt32BE(length, at);
    at += 4 + length;
  }
  return bytes.subarray(0, at);
}

/** PostgreSQL counts from 2000. */
const epochMs = Date.UTC(2000, 0, 1);

function writeTime(bytes: Buffer, value: unknown, at: number): number {
  const ms = (value as Date).getTime();
  if (Number.isNaN(ms)) throw new TypeError("The time is none");
  bytes.writeBigInt64BE(BigInt(ms - epochMs) * 1_000n, at);
  return 8;
}

const dash = 45;
/** Value of a hexadecimal digit by its character. */
const digits = Int8Array.from({ length: 128 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(value) ? -1 : value;
});

function writeUuid(bytes: Buffer, value: unknown, at: number): number {
  const text = value as string;
  let count = 0;
  let high = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === dash) continue;
    const digit = digits[code] ?? -1;
    if (digit < 0 || count === 32) throw new TypeError("The text is no UUID");
    if (count % 2 === 0) high = digit * 16;
    else bytes[at + (count >> 1)] = high + digit;
    count += 1;
  }
  if (count !== 32) throw new TypeError("The text is no UUID");
  return 16;
}
