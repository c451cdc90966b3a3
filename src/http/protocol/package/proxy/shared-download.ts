import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";

/** What an index promised of a file. */
export type Promised = Readonly<{
  algorithm: "md5" | "sha1" | "sha256" | "sha512";
  /** Lower case hex. */
  hex: string;
}>;

export type SharedDownloadLimits = Readonly<{
  promised: Promised | undefined;
  bytesMax: number;
  /** Called before the file grows to so many bytes. @throws where there is no room for them */
  reach?: (bytes: number) => void;
}>;

const readBytes = 256 * 1024;
/** Sent only when all is verified: a wrong file ends as one that was cut. */
export const heldBackBytes = 64 * 1024;

/**
 * A file that comes from elsewhere once and is read by many while it comes: it is written to a file of this machine,
 * which each reader follows at their own pace.
 */
export class SharedDownload {
  readonly #file = path.join(tmpdir(), `ledgerforge-proxy-${randomUUID()}`);
  readonly #waiting = new Set<() => void>();
  #handle: FileHandle | undefined;
  #bytes = 0;
  #isVerified = false;
  #failure: Error | undefined;
  #readers = 0;
  #isEnded = false;

  constructor(
    /** Called when the last reader leaves before the file is complete. */
    readonly abandoned: () => void,
    /** Called when the file of this machine is removed; perhaps more than once. */
    readonly removed: () => void = () => undefined,
  ) {}

  /** Whether the file is complete or failed, so that no further reader can begin. */
  get isOver(): boolean {
    return this.#isEnded && this.#handle === undefined;
  }

  /** A stream of the whole file from its beginning; not once it is over. */
  read(): Readable {
    this.#readers += 1;
    const left = (): void => this.#leave();
    return Readable.from(this.#follow(), { objectMode: false }).once("close", left);
  }

  /**
   * Writes what comes, holds it against what was promised, and hands it to `take` before readers get its end.
   *
   * @throws when it breaks off, is too large or is not what was promised; readers are cut then
   */
  async fill(
    source: Readable,
    { promised, bytesMax, reach }: SharedDownloadLimits,
    take: (content: Readable, bytes: number) => Promise<void>,
  ): Promise<void> {
    // What breaks before it is read is reported by the reading all the same.
    source.on("error", () => undefined);
    try {
      const handle = await open(this.#file, "wx+", 0o600);
      this.#handle = handle;
      const hash = promised && createHash(promised.algorithm);
      for await (const chunk of source as AsyncIterable<Buffer>) {
        if (this.#bytes + chunk.length > bytesMax) throw new Error(`Over ${bytesMax} bytes came.`);
        reach?.(this.#bytes + chunk.length);
        hash?.update(chunk);
        await writeAll(handle, chunk, this.#bytes);
        this.#bytes += chunk.length;
        this.#wake();
      }
      if (hash !== undefined && hash.digest("hex") !== promised?.hex) {
        throw new Error("What came is not what the index promised.");
      }
      await take(
        Readable.from(this.#pieces(handle, this.#bytes), { objectMode: false }),
        this.#bytes,
      );
      this.#isVerified = true;
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      source.destroy();
      throw error;
    } finally {
      this.#isEnded = true;
      this.#wake();
      await this.#clean();
    }
  }

  async *#follow(): AsyncGenerator<Buffer> {
    let at = 0;
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const until = this.#isVerified ? this.#bytes : Math.max(at, this.#bytes - heldBackBytes);
      if (this.#handle !== undefined && at < until) {
        const piece = Buffer.alloc(Math.min(readBytes, until - at));
        const { bytesRead } = await this.#handle.read(piece, 0, piece.length, at);
        at += bytesRead;
        yield piece.subarray(0, bytesRead);
      } else if (this.#isVerified) {
        if (at < this.#bytes) throw new Error("The file is gone.");
        return;
      } else {
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
    }
  }

  async *#pieces(handle: FileHandle, bytes: number): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes; ) {
      const piece = Buffer.alloc(Math.min(readBytes, bytes - at));
      const { bytesRead } = await handle.read(piece, 0, piece.length, at);
      at += bytesRead;
      yield piece.subarray(0, bytesRead);
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #leave(): void {
    this.#readers -= 1;
    if (this.#readers > 0) return;
    if (this.#isEnded) void this.#clean();
    else this.abandoned();
  }

  async #clean(): Promise<void> {
    if (!this.#isEnded || (this.#readers > 0 && this.#failure === undefined)) return;
    const handle = this.#handle;
    this.#handle = undefined;
    try {
      await handle?.close();
      await rm(this.#file, { force: true });
    } finally {
      this.removed();
    }
  }
}

async function writeAll(handle: FileHandle, chunk: Buffer, position: number): Promise<void> {
  let done = 0;
  while (done < chunk.length) {
    const { bytesWritten } = await handle.write(chunk, done, chunk.length - done, position + done);
    done += bytesWritten;
  }
}
