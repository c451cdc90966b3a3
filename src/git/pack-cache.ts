import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type FileHandle, mkdir, open, rm, statfs } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { LRUCache } from "lru-cache";

import { invariant } from "../platform/invariant.ts";

export type PackCacheOptions = Readonly<{
  /** On a file system with room for `bytesMax`. */
  directory: string;
  /** Of all packs together; 0: none is kept. */
  bytesMax: number;
  /** After the last use. */
  ttlMs?: number;
}>;

/** An answer of upload-pack that is there, or on its way. */
export type CachedPack = Readonly<{
  /** Undefined while it is being made. */
  bytes: () => number | undefined;
  /**
   * All of it from the beginning, as fast as it is made and read. A piece is valid until the next is requested.
   * The pack is held until the reader has read it, or has left.
   */
  pieces: () => AsyncIterable<Buffer>;
  /** Nothing more comes. Rejects when it could not be begun. */
  end: Promise<void>;
}>;

type Entry = {
  file: FileHandle | undefined;
  /** What it takes, or may take while it is being made. */
  bytes: number;
  child: ChildProcess | undefined;
  /** Nothing more is written, or ever was. */
  ended: boolean;
  /** Rejects when it could not be begun. */
  end: Promise<void>;
  readers: number;
  /** Not found by requests any more. */
  dropped: boolean;
  timer: NodeJS.Timeout | undefined;
};

const ttlMsDefault = 10 * 60_000;
const requestsMax = 10_000;
/** Pushes have precedence over the cache for free disk space. */
const spareFactor = 8;
const pieceBytes = 256 * 1024;
/** Pause of a reader that has read everything before it looks for more. */
const growMs = 4;
const watchMs = 1_000;

/**
 * Answers of upload-pack, each made once for all equal requests at the same state of the refs:
 * the machines that build a commit clone it at the same moment. Git writes into a file without a name,
 * which is gone with this process, however it ends.
 */
export class PackCache {
  readonly #directory: string;
  readonly #bytesMax: number;
  readonly #ttlMs: number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  /** Packs that were requested a short while ago. */
  readonly #requested: LRUCache<string, true>;

  constructor({ directory, bytesMax, ttlMs = ttlMsDefault }: PackCacheOptions) {
    this.#directory = directory;
    this.#bytesMax = bytesMax;
    this.#ttlMs = ttlMs;
    this.#requested = new LRUCache({ max: requestsMax, ttl: ttlMs });
  }

  /** One pack may not push all others out. */
  get #packBytesMax(): number {
    return this.#bytesMax / 4;
  }

  /** Whether an answer of about so many bytes is kept at all. */
  async takes(bytes: number): Promise<boolean> {
    // Of objects that are in no pack yet it is not known.
    if (this.#bytesMax === 0 || bytes > this.#packBytesMax) return false;
    await mkdir(this.#directory, { recursive: true });
    const { bavail, bsize } = await statfs(this.#directory);
    return bavail * bsize > bytes * spareFactor;
  }

  find(key: string): CachedPack | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#use(key, entry);
    return packOf(entry);
  }

  /** Whether it was requested a short while ago: a single request is not worth a file. */
  requestedBefore(key: string): boolean {
    const wasRequested = this.#requested.has(key);
    this.#requested.set(key, true);
    return wasRequested;
  }

  /**
   * Has one made that is not to be found yet.
   *
   * @param bytes about what it will take
   * @param start is given a file's descriptor to write the answer to, and ends when it is written
   * @returns undefined when there is no room for it
   */
  make(
    key: string,
    bytes: number,
    start: (descriptor: number) => ChildProcess,
  ): CachedPack | undefined {
    invariant(!this.#entries.has(key), "a pack is made once");
    if (!this.#makeRoom(bytes)) return undefined;
    const entry: Entry = {
      file: undefined,
      bytes,
      child: undefined,
      ended: false,
      end: Promise.resolve(),
      readers: 0,
      dropped: false,
      timer: undefined,
    };
    this.#entries.set(key, entry);
    entry.end = this.#fill(key, entry, start);
    // Its readers receive the error.
    entry.end.catch(() => undefined);
    return packOf(entry);
  }

  close(): void {
    for (const [key, { child }] of this.#entries) {
      child?.kill("SIGTERM");
      this.#drop(key);
    }
  }

  async #fill(key: string, entry: Entry, start: (descriptor: number) => ChildProcess) {
    try {
      const file = await this.#open();
      entry.file = file;
      const child = start(file.fd);
      entry.child = child;
      const exitCode = await this.#written(file, child);
      entry.bytes = (await file.stat()).size;
      entry.ended = true;
      // The answer contains the reason of the failure; the next request makes the pack again.
      if (exitCode === 0 && !entry.dropped) this.#use(key, entry);
      else this.#drop(key, entry);
    } catch (error) {
      entry.ended = true;
      this.#drop(key, entry);
      throw error;
    }
  }

  async #open(): Promise<FileHandle> {
    await mkdir(this.#directory, { recursive: true });
    const name = path.join(this.#directory, randomUUID());
    const file = await open(name, "wx+", 0o600);
    await rm(name);
    return file;
  }

  /** @returns the program's exit code. @throws when it could not be started */
  async #written(file: FileHandle, child: ChildProcess): Promise<number | null> {
    const watching = setInterval(() => void this.#watch(file, child), watchMs);
    try {
      const [exitCode] = (await once(child, "close")) as [number | null];
      return exitCode;
    } finally {
      clearInterval(watching);
    }
  }

  /** Stops a pack that is too large: objects that are sent whole take more than as stored deltas. */
  async #watch(file: FileHandle, child: ChildProcess): Promise<void> {
    const { size } = await file.stat();
    if (size > this.#packBytesMax) child.kill("SIGTERM");
  }

  /** Takes those out that were used least recently. @returns whether there is room now */
  #makeRoom(bytes: number): boolean {
    let left = this.#bytesMax - bytes;
    for (const entry of this.#entries.values()) left -= entry.bytes;
    for (const [key, entry] of this.#entries) {
      if (left >= 0) break;
      if (!entry.ended || entry.readers > 0) continue;
      left += entry.bytes;
      this.#drop(key);
    }
    return left >= 0;
  }

  #use(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    clearTimeout(entry.timer);
    if (!entry.ended) return;
    entry.timer = setTimeout(() => this.#drop(key), this.#ttlMs);
    entry.timer.unref();
  }

  #drop(key: string, entry = this.#entries.get(key)): void {
    if (entry === undefined) return;
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
    clearTimeout(entry.timer);
    entry.dropped = true;
    closeUnread(entry);
  }
}

function packOf(entry: Entry): CachedPack {
  return {
    end: entry.end,
    bytes: () => (entry.ended ? entry.bytes : undefined),
    pieces() {
      entry.readers += 1;
      return contents(entry);
    },
  };
}

/** What is not to be found any more is kept for those who are reading it. */
function closeUnread(entry: Entry): void {
  if (!entry.dropped || !entry.ended || entry.readers > 0) return;
  void entry.file?.close().catch(() => undefined);
  entry.file = undefined;
}

async function* contents(entry: Entry): AsyncGenerator<Buffer> {
  let position = 0;
  const piece = Buffer.allocUnsafeSlow(pieceBytes);
  try {
    for (;;) {
      const { file, ended } = entry;
      const { bytesRead } = (await file?.read(piece, 0, pieceBytes, position)) ?? { bytesRead: 0 };
      if (bytesRead > 0) {
        position += bytesRead;
        yield piece.subarray(0, bytesRead);
      } else {
        await (ended ? entry.end : Promise.race([entry.end, delay(growMs)]));
        if (ended) return;
      }
    }
  } finally {
    entry.readers -= 1;
    closeUnread(entry);
  }
}
