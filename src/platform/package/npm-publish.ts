import { PassThrough, type Readable } from "node:stream";

import { Refusal } from "../refusal.ts";

/** Of a publication without its tarball: manifest, readme and tags. */
const documentBytesMax = 2 * 1024 ** 2;

export type Publication = Readonly<{
  /** The decoded tarball, as it comes; it ends without a byte when there is none. */
  tarball: Readable;
  /** All the rest, with an empty text in the place of each attachment's data. */
  document: Promise<unknown>;
}>;

/**
 * Reads the body that `npm publish` sends: JSON with the tarball in it as base64, at
 * `_attachments.<file>.data`. Only the rest is kept in memory. The tarball must be read for the body to
 * move on; only the first attachment named `.tgz` counts.
 *
 * @returns a document that rejects with Refusal 400 when the body is not JSON, 413 when it is too large
 */
export function readPublication(body: Readable): Publication {
  const tarball = new PassThrough();
  const document = scan(body, tarball).catch((error: unknown) => {
    tarball.destroy(error instanceof Error ? error : new Error(String(error)));
    throw error;
  });
  // The reader of the tarball meets the same error first.
  document.catch(() => undefined);
  tarball.on("error", () => undefined);
  return { tarball, document };
}

async function scan(body: Readable, tarball: PassThrough): Promise<unknown> {
  const scanner = new Scanner();
  let left = "";
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const data = left + scanner.take(chunk);
    const whole = data.length - (data.length % 4);
    left = data.slice(whole);
    if (whole === 0) continue;
    if (!tarball.write(decodeBase64(data.slice(0, whole)))) await drained(tarball);
  }
  if (left !== "") throw notJson("an attachment is not base64");
  tarball.end();
  try {
    return JSON.parse(scanner.rest());
  } catch {
    throw notJson("it does not parse");
  }
}

const drained = (stream: PassThrough): Promise<void> =>
  new Promise((resolve, reject) => {
    const closed = (): void => reject(new Error("The tarball is not read any more."));
    if (stream.destroyed) return closed();
    stream.once("close", closed);
    stream.once("drain", () => {
      stream.off("close", closed);
      resolve();
    });
  });

function decodeBase64(text: string): Buffer {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw notJson("an attachment is not base64");
  return Buffer.from(text, "base64");
}

const quote = 0x22;
const backslash = 0x5c;

/** Tells the data of the tarball from the rest, byte by byte. */
class Scanner {
  readonly #rest: Buffer[] = [];
  #restBytes = 0;
  /** Keys of the objects that are open, from the outermost; a list has none. */
  readonly #keys: (string | undefined)[] = [];
  #key: number[] | undefined;
  #isString = false;
  #isEscaped = false;
  #isKeyNext = false;
  #isTarball = false;
  #hasTarball = false;

  /** @returns what came of the tarball, in base64 */
  take(chunk: Buffer): string {
    let data = "";
    let keepFrom = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk.readUInt8(at);
      if (!this.#isString) {
        if (byte === quote) {
          this.#begin();
          if (this.#isTarball) this.#keep(chunk.subarray(keepFrom, at + 1));
        } else this.#structure(byte);
        continue;
      }
      if (this.#isTarball) {
        const end = chunk.indexOf(quote, at);
        const until = end < 0 ? chunk.length : end;
        // Some encoders write a slash as `\/`, which may be parted between two chunks.
        data += chunk.toString("latin1", at, until).replaceAll("\\", "");
        at = until;
        keepFrom = until;
        if (end >= 0) this.#end();
        continue;
      }
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) {
        this.#end();
        continue;
      }
      this.#key?.push(byte);
      if ((this.#key?.length ?? 0) > 1_000) this.#key = [];
    }
    if (this.#isTarball) return data;
    this.#keep(chunk.subarray(keepFrom));
    return data;
  }

  rest(): string {
    return Buffer.concat(this.#rest).toString("utf8");
  }

  #keep(bytes: Buffer): void {
    this.#restBytes += bytes.length;
    if (this.#restBytes > documentBytesMax) {
      const message = `All but the tarball is over ${documentBytesMax} bytes.`;
      throw new Refusal("too_large", "body.too_large", message);
    }
    this.#rest.push(Buffer.from(bytes));
  }

  #begin(): void {
    this.#isString = true;
    if (this.#isKeyNext) this.#key = [];
    const [outer, file, field] = this.#keys;
    const isData = this.#keys.length === 3 && outer === "_attachments" && field === "data";
    this.#isTarball = !this.#isKeyNext && isData && !this.#hasTarball && /\.tgz$/.test(file ?? "");
  }

  #end(): void {
    this.#isString = false;
    if (this.#isTarball) this.#hasTarball = true;
    this.#isTarball = false;
    if (this.#key === undefined) return;
    this.#keys[this.#keys.length - 1] = Buffer.from(this.#key).toString("utf8");
    this.#key = undefined;
    this.#isKeyNext = false;
  }

  #structure(byte: number): void {
    switch (String.fromCharCode(byte)) {
      case "{":
        this.#keys.push(undefined);
        this.#isKeyNext = true;
        break;
      case "[":
        this.#keys.push(undefined);
        this.#isKeyNext = false;
        break;
      case "}":
      case "]":
        this.#keys.pop();
        this.#isKeyNext = false;
        break;
      case ",":
        this.#isKeyNext = this.#keys.at(-1) !== undefined;
        break;
      default:
    }
  }
}

function notJson(why: string): Refusal {
  return new Refusal("bad_request", "body.not_json", `The body must be what npm sends; ${why}.`);
}
