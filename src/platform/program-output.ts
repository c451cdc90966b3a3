import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import { Ring } from "./ring.ts";

const ringBytes = 128 * 1024;
/** Many programs write in small pieces: so much of them is passed on at once, or what came within so long. */
const gatherBytes = 32 * 1024;
const gatherMs = 1;

/** An address of a socket may not be long: it is this, some letters and a number. */
const prefix = path.join(tmpdir(), "ledgerforge-out-");

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
   *   good until the next is asked for
   */
  async of<Program>(
    start: (end: Socket) => Program,
  ): Promise<Readonly<{ program: Program; pieces: AsyncIterable<Buffer> }>> {
    const { reading, end } = await this.#connect().catch((error: NodeJS.ErrnoException) => {
      this.#directory = undefined;
      // Somebody tidied up among temporary files.
      if (["ENOENT", "EACCES"].includes(error.code ?? "")) return this.#connect();
      throw error;
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

  async #connect(): Promise<Readonly<{ reading: Reading; end: Socket }>> {
    this.#directory ??= mkdtemp(prefix);
    this.#count += 1;
    const name = String(this.#count);
    const address = path.join(await this.#directory, name);
    const server = createServer({ pauseOnConnect: true });
    try {
      await once(server.listen(address), "listening");
      const accepted = once(server, "connection") as Promise<[Socket]>;
      const reading = new Reading(address);
      const [[end]] = await Promise.all([accepted, reading.begun]);
      return { reading, end };
    } finally {
      server.close();
    }
  }
}

const nothing = Buffer.alloc(0);

class Reading {
  readonly #ring = new Ring(ringBytes);
  readonly #socket: Socket;
  /** Rejects when there is nothing to read from. */
  readonly begun: Promise<unknown>;
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
        if (this.#paused || this.#ring.piece().length >= gatherBytes) this.#arrive();
        else this.#timer ??= setTimeout(() => this.#arrive(), gatherMs);
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
