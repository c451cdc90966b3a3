import { PassThrough, type Readable } from "node:stream";

import { NpmScanner, notJson } from "./npm-scanner.ts";

export type Publication = Readonly<{
  /** The decoded tarball, as it comes; it ends without a byte when there is none. */
  tarball: Readable;
  /** The rest, but no more of it than tags, and versions with their deprecations. */
  document: Promise<unknown>;
}>;

/**
 * Reads the body that `npm publish` sends: JSON with the tarball in it as base64, at
 * `_attachments.<file>.data`. The tarball must be read for the body to
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
  const scanner = new NpmScanner();
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
  return scanner.document();
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
