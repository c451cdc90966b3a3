import { once } from "node:events";
import type { Readable } from "node:stream";

import { packetAt } from "../platform/git/pkt-line.ts";
import {
  type PushHead,
  PushMalformed,
  parsePushHead,
  pushHeadBytesMax,
} from "../platform/git/push/request.ts";

/** Takes the commands off the front of a push; the pack is left in the stream. */
export async function readPushHead(
  body: Readable,
): Promise<Readonly<{ head: PushHead; bytes: Buffer }>> {
  const front = new PushFront();
  for (;;) {
    const chunk = body.read() as Buffer | null;
    if (chunk !== null) {
      const end = front.push(chunk);
      if (end === undefined) continue;
      const rest = front.bytes.subarray(end);
      if (rest.length > 0) body.unshift(rest);
      const bytes = front.bytes.subarray(0, end);
      return { head: parsePushHead(bytes), bytes };
    }
    if (body.errored) throw body.errored;
    if (body.readableEnded || body.destroyed) throw new PushMalformed("the push broke off");
    await Promise.race([once(body, "readable"), once(body, "end"), once(body, "close")]);
  }
}

/** Gathers bytes up to the first flush packet; each is copied and looked at a bounded number of times. */
class PushFront {
  #store = Buffer.allocUnsafe(16 * 1024);
  #length = 0;
  #walked = 0;

  get bytes(): Buffer {
    return this.#store.subarray(0, this.#length);
  }

  /** @returns where the flush packet ends, once it is there */
  push(chunk: Buffer): number | undefined {
    const length = this.#length + chunk.length;
    if (length > this.#store.length) {
      const larger = Buffer.allocUnsafe(length * 2);
      this.bytes.copy(larger);
      this.#store = larger;
    }
    chunk.copy(this.#store, this.#length);
    this.#length = length;
    for (;;) {
      const next = packetAt(this.bytes, this.#walked);
      if (next.kind === "flush") return next.end;
      if (next.kind === "partial") break;
      this.#walked = next.end;
    }
    if (this.#length > pushHeadBytesMax) throw new PushMalformed("too many refs in one push");
    return undefined;
  }
}
