import type { PackumentAnswer } from "../../../../package/npm/packument.ts";
import { BoundedCache } from "../../../../platform/bounded-cache.ts";

/** What is made of the document of a package. */
export type Given = Extract<PackumentAnswer, { kind: "json" | "dist" }>;

/** Larger ones are made again each time. */
const jsonBytesMax = 256 * 1024;
/** What an entry takes beside its texts, about. */
const bytesBeside = 1_024;
/** A text has one or two bytes for each character. */
const characterBytes = 2;

/** What was made of documents that are kept, by their content and the question. */
export class GivenCache {
  readonly #entries: BoundedCache<Given>;

  constructor(bytesMax: number) {
    this.#entries = new BoundedCache(bytesMax);
  }

  /** Of all that is kept. */
  get bytes(): number {
    return this.#entries.bytes;
  }

  get(key: string): Given | undefined {
    return this.#entries.get(key);
  }

  set(key: string, answer: Given): void {
    const own = ownBytes(answer);
    if (answer.kind === "json" && own > jsonBytesMax) return;
    this.#entries.set(key, answer, own + characterBytes * key.length + bytesBeside);
  }
}

function ownBytes(answer: Given): number {
  if (answer.kind === "json") return answer.bytes.buffer.byteLength;
  const { tarball, integrity = "", shasum = "" } = answer.dist;
  return characterBytes * (tarball.length + integrity.length + shasum.length);
}
