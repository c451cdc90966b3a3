import { once } from "node:events";
import type { Readable } from "node:stream";
import { packetAt } from "../../git/pkt-line.ts";
import {
  type PushHead,
  PushMalformed,
  parsePushHead,
  pushHeadBytesMax,
} from "../../git/push/request.ts";
import { breather } from "../../platform/breather.ts";

export type PushFront = Readonly<{
  head: PushHead;
  bytes: Buffer;
  /** What `git push -o` sent, and the same as bytes for git: empty when the client sent no such part. */
  options: readonly string[];
  optionBytes: Buffer;
}>;

/** Takes the commands and options off the front of a push; the pack is left in the stream. */
export async function readPushHead(body: Readable): Promise<PushFront> {
  const bytes = await readSection(body, pushHeadBytesMax);
  const head = await parsePushHead(bytes);
  if (!head.capabilities.has("push-options")) {
    return { head, bytes, options: [], optionBytes: Buffer.alloc(0) };
  }
  const optionBytes = await readSection(body, optionBytesMax);
  return { head, bytes, options: textsOf(optionBytes), optionBytes };
}

/** Up to a flush packet, which is part of it. */
async function readSection(body: Readable, bytesMax: number): Promise<Buffer> {
  const front = new Section(bytesMax);
  const breathe = breather();
  for (;;) {
    await breathe();
    const chunk = body.read() as Buffer | null;
    if (chunk !== null) {
      const end = front.push(chunk);
      if (end === undefined) continue;
      const rest = front.bytes.subarray(end);
      if (rest.length > 0) body.unshift(rest);
      return front.bytes.subarray(0, end);
    }
    if (body.errored) throw body.errored;
    if (body.readableEnded || body.destroyed) throw new PushMalformed("the push broke off");
    await Promise.race([once(body, "readable"), once(body, "end"), once(body, "close")]);
  }
}

function textsOf(section: Buffer): readonly string[] {
  const texts: string[] = [];
  for (let offset = 0; ; ) {
    const next = packetAt(section, offset);
    if (next.kind !== "data") return texts;
    offset = next.end;
    texts.push(next.payload.toString("utf8").replace(/\n$/, ""));
  }
}

/** Beside the head, in the same events and their 1 MiB: far more than anybody types. */
const optionBytesMax = 64 * 1024;

/** Gathers bytes up to the first flush packet; each is copied and read a bounded number of times. */
class Section {
  #store = Buffer.allocUnsafe(16 * 1024);
  #length = 0;
  #walked = 0;

  constructor(readonly bytesMax: number) {}

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
    if (this.#walked > this.bytesMax) {
      throw new PushMalformed("too many refs or options in one push");
    }
    return undefined;
  }
}
