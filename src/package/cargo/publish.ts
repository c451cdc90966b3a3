import { Readable } from "node:stream";

import { Refusal } from "../../platform/refusal.ts";

const documentBytesMax = 1024 ** 2;

export type CargoPublication = Readonly<{
  document: unknown;
  /** The .crate as it comes; it fails when less or more comes than was announced. */
  crate: Readable;
}>;

/**
 * Reads what `cargo publish` sends: the length of a JSON document (32 bits, little-endian), the document,
 * the length of the .crate and the .crate.
 *
 * @throws Refusal 400 when it is cut or not of this form, 413 when the document is too large
 */
export async function readCargoPublication(body: Readable): Promise<CargoPublication> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);
  const take = async (bytes: number): Promise<Buffer> => {
    const parts = [rest];
    let length = rest.length;
    while (length < bytes) {
      const { done, value } = await chunks.next();
      if (done === true) throw malformed("it was cut");
      parts.push(value);
      length += value.length;
    }
    const whole = Buffer.concat(parts);
    rest = whole.subarray(bytes);
    return whole.subarray(0, bytes);
  };
  const documentBytes = (await take(4)).readUInt32LE();
  if (documentBytes > documentBytesMax) {
    const message = `The metadata is over ${documentBytesMax} bytes.`;
    throw new Refusal("too_large", "body.too_large", message);
  }
  const document = parse(await take(documentBytes));
  const crateBytes = (await take(4)).readUInt32LE();
  async function* crate(): AsyncGenerator<Buffer> {
    let left = crateBytes;
    for (let chunk = rest; ; ) {
      if (chunk.length > left) throw malformed("something follows the crate");
      left -= chunk.length;
      if (chunk.length > 0) yield chunk;
      const next = await chunks.next();
      if (next.done === true) break;
      chunk = next.value;
    }
    if (left > 0) throw malformed("it was cut");
  }
  return { document, crate: Readable.from(crate(), { objectMode: false }) };
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw malformed("its metadata is not JSON");
  }
}

function malformed(why: string): Refusal {
  return new Refusal("bad_request", "body.malformed", `This is not what cargo publishes; ${why}.`);
}
