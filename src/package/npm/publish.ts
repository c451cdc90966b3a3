import { PassThrough, type Readable } from "node:stream";

import { Limit } from "../../platform/limit.ts";
import { documentReader } from "../../platform/parser/document-reader.ts";
import {
  notJson,
  type Publication,
  type PublicationQuestion,
  parsePublication,
  tooLarge,
} from "./publication.ts";

export type Published = Readonly<{
  /** The decoded tarball, as it comes; it ends without a byte when there is none. */
  tarball: Readable;
  /** Undefined when it is not what npm sends. */
  document: Promise<Publication | undefined>;
}>;

/** Of a publication without its tarball. */
const documentBytesMax = 64 * 1024 ** 2;
const documentBytes = new Limit({
  name: "registry.npm_publications",
  total: 512 * 1024 ** 2,
  share: 128 * 1024 ** 2,
  whenFull: "refuse",
});

const readDocument = documentReader<PublicationQuestion, Publication | undefined>({
  parse: parsePublication,
  module: "package/npm/publication-task",
  atOnceBytesMax: 64 * 1024,
  timeoutMs: 60_000,
  mebibytesMax: 1_024,
});

/** The begin of the first attachment named `.tgz`, up to its data. Its other fields are short. */
const tarballData = /\.tgz"\s{0,20}:\s{0,20}\{[^{}]{0,1000}?"data"\s{0,20}:\s{0,20}"/;
const beginBytesMax = 1_200;
const quote = '"';

/**
 * Reads the body that `npm publish` sends: JSON with the tarball in it as base64, at
 * `_attachments.<file>.data`. The tarball must be read for the body to
 * move on; only the first attachment named `.tgz` counts.
 *
 * @param wanted versions that are read of the document, called once all of the tarball has come
 * @returns a document that rejects with Refusal 400 when the body is not JSON, 413 when it is too large
 */
export function readPublication(
  body: Readable,
  wanted: () => Promise<readonly string[]>,
): Published {
  const tarball = new PassThrough();
  const document = parted(body, tarball, wanted).catch((error: unknown) => {
    tarball.destroy(error instanceof Error ? error : new Error(String(error)));
    throw error;
  });
  // The reader of the tarball meets the same error first.
  document.catch(() => undefined);
  tarball.on("error", () => undefined);
  return { tarball, document };
}

async function parted(
  body: Readable,
  tarball: PassThrough,
  wanted: () => Promise<readonly string[]>,
): Promise<Publication | undefined> {
  const hold = documentBytes.take(0);
  try {
    const kept: Buffer[] = [];
    let bytes = 0;
    for await (const piece of withoutTarball(body, tarball)) {
      // Also an empty part of a chunk keeps all of the chunk in memory.
      if (piece.length === 0) continue;
      bytes += piece.length;
      if (bytes > documentBytesMax) throw tooLarge(`${documentBytesMax} bytes`);
      hold.reach(bytes);
      kept.push(piece);
    }
    tarball.end();
    return await readDocument({ bytes: Buffer.concat(kept), wanted: await wanted() });
  } finally {
    hold.leave();
  }
}

/** Gives the body with an empty text in place of the tarball, which is cut out as it comes. */
async function* withoutTarball(body: Readable, tarball: PassThrough): AsyncGenerator<Buffer> {
  let before: Buffer | undefined = Buffer.alloc(0);
  let isWithin = false;
  let left = "";
  for await (const chunk of body as AsyncIterable<Buffer>) {
    let rest = chunk;
    if (before !== undefined) {
      const searched: Buffer = Buffer.concat([before, chunk]);
      const begin = tarballData.exec(searched.toString("latin1"));
      const end = begin ? begin.index + begin[0].length : searched.length;
      const at = end - (searched.length - chunk.length);
      yield chunk.subarray(0, at);
      before = begin ? undefined : searched.subarray(-beginBytesMax);
      isWithin = begin !== null;
      rest = chunk.subarray(at);
    }
    if (isWithin) {
      const end = rest.indexOf(quote);
      const data = rest.subarray(0, end < 0 ? rest.length : end);
      // Some encoders write a slash as `\/`, which may be parted between two chunks.
      left = await decoded(left + data.toString("latin1").replaceAll("\\", ""), tarball);
      isWithin = end < 0;
      rest = rest.subarray(data.length);
    }
    if (before === undefined) yield rest;
  }
  if (left !== "") throw notJson("an attachment is not base64");
}

/** @returns what waits for the rest of its four characters */
async function decoded(text: string, tarball: PassThrough): Promise<string> {
  const whole = text.slice(0, text.length - (text.length % 4));
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(whole)) throw notJson("an attachment is not base64");
  if (whole !== "" && !tarball.write(Buffer.from(whole, "base64"))) await drained(tarball);
  return text.slice(whole.length);
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
