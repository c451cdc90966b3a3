import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import { Ring } from "./ring.ts";

const ringBytes = 128 * 1024;
/** Many programs write in small pieces: so much of them is passed on at once, or what came within so long. */
const batchBytes = 32 * 1024;
const batchMs = 1;

/** Of the address of a socket there is room for a hundred bytes; what is longer is cut without a word. */
const parentBytesMax = 60;

/**
 * What programs write, read into memory that is used again; see `Ring`. The pipes of spawn() cannot be read like
 * that, and Node.js has no socketpair(2): the two ends are those of a server that takes one connection, in
 * a directory that only we can enter.
 */
export class ProgramOutputs {
  #directory: Promise<string> | undefined;
  #count = 0;

  /**
   * @param start starts a program that writes to the given end
   * @returns besides the program all that it writes, as it comes, to be read to its end or left: a piece is
   *   valid until the next is requested
   */
  async of<Program>(
    start: (end: Socket) => Program,
  ): Promise<Readonly<{ program: Program; pieces: AsyncIterable<Buffer> }>> {
    const directory = this.#ensured();
    const { reading, end } = await this.#connect(directory).catch((error) => {
      if (!isMissing(error)) throw error;
      // Another program has removed the temporary directory.
      if (this.#directory === directory) this.#directory = undefined;
      return this.#connect(this.#ensured());
    });
    try {
      return { program: start(end), pieces: reading.pieces() };
    } finally {
      // The program has its own.
      end.destroy();
    }
  }

  async close(): Promise<void> {
    const directory = await this.#directory;
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  }

  #ensured(): Promise<string> {
    this.#directory ??= temporaryDirectory().catch((error) => {
      this.#directory = undefined;
      throw error;
    });
    return this.#directory;
  }

  async #connect(directory: Promise<string>): Promise<Readonly<{ reading: Reading; end: Socket }>> {
    this.#count += 1;
    const name = String(this.#count);
    const address = path.join(await directory, name);
    const server = createServer({ pauseOnConnect: true });
    try {
      await once(server.listen(address), "listening");
      const accepted = once(server, "connection") as Promise<[Socket]>;
      const reading = new Reading(address);
      // Without a descriptor left, the connection is closed and no "connection" event follows.
      const [[end]] = await Promise.all([Promise.race([accepted, reading.cut]), reading.begun]);
      return { reading, end };
    } finally {
      server.close();
    }
  }
}

const nothing = Buffer.alloc(0);

function temporaryDirectory(): Promise<string> {
  const parent = tmpdir();
  const isShort = Buffer.byteLength(parent) <= parentBytesMax;
  return mkdtemp(path.join(isShort ? parent : "/tmp", "ledgerforge-out-"));
}

/** Node.js says EACCES when there is no directory for a socket. */
const isMissing = ({ code }: NodeJS.ErrnoException): boolean =>
  code === "ENOENT" || code === "EACCES";

class Reading {
  readonly #ring = new Ring(ringBytes);
  readonly #socket: Socket;
  /** Rejects when there is nothing to read from. */
  readonly begun: Promise<unknown>;
  /** Rejects when the line is closed. */
  readonly cut: Promise<never>;
  #ended = false;
  #paused = false;
  #failure: Error | undefined;
  #timer: NodeJS.Timeout | undefined;
  #wake: () => void = () => undefined;

  constructor(address: string) {
    const onread = {
      buffer: () => this.#ring.place(),
      callback: (bytes: number) => {
        this.#paused = !this.#ring.took(bytes);
        if (this.#paused || this.#ring.piece().length >= batchBytes) this.#arrive();
        else this.#timer ??= setTimeout(() => this.#arrive(), batchMs);
        return !this.#paused;
      },
    };
    const end = (): void => {
      this.#ended = true;
      this.#arrive();
    };
    this.#socket = connect({ path: address, onread })
      .once("end", end)
      .once("close", end)
      .once("error", (error) => {
        this.#failure = error;
      });
    this.begun = once(this.#socket, "connect");
    this.cut = once(this.#socket, "close").then(() => {
      throw new Error("There is no connection to a program: too many files may be open.");
    });
    this.cut.catch(() => undefined);
  }

  /** There is enough for a piece. */
  #arrive(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wake();
  }

  #resume(): void {
    this.#paused = false;
    this.#socket.resume();
  }

  async *pieces(): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        // It runs while there is something, but not enough.
        const piece = this.#timer === undefined ? this.#ring.piece() : nothing;
        if (piece.length > 0) {
          yield piece;
          this.#ring.did(piece.length);
          if (this.#paused && this.#ring.isFree) this.#resume();
        } else if (this.#ended) {
          if (this.#failure !== undefined) throw this.#failure;
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.#socket.destroy();
    }
  }
}
