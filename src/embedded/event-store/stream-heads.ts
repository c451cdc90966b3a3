import type { Head } from "./storage.ts";

/** Enough for every stream in active use; one costs about 200 bytes. */
const generationMax = 50_000;

/**
 * Ends of streams as of the last commit. Only the writer fills it, in commit order, so that what
 * is in it is never older than the database. Two generations bound it: when the young one is full
 * it becomes the old one, and the streams of the former old one are dropped unless read since.
 */
export class StreamHeads {
  #young = new Map<string, Head>();
  #old: ReadonlyMap<string, Head> = new Map();

  get(stream: string): Head | undefined {
    const head = this.#young.get(stream);
    if (head !== undefined) return head;
    const aged = this.#old.get(stream);
    if (aged !== undefined) this.set(stream, aged);
    return aged;
  }

  set(stream: string, head: Head): void {
    if (this.#young.size >= generationMax && !this.#young.has(stream)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(stream, head);
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
  }
}
