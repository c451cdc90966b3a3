import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";

import { type MaskedForms, mask, maskPiece } from "../platform/job-log/mask.ts";

/** The service keeps no more either. */
const logBytesMax = 100 * 1024 ** 2;

const copyBytes = 1024 ** 2;

const green = "\u001b[32;1m";
const red = "\u001b[31;1m";
const yellow = "\u001b[0;33m";

const plain = "\u001b[0;m";

/**
 * The log of one job, in a file until the service has it. What is masked is never written. Writing is
 * synchronous: a job that prints more than the disk takes is slowed down by it.
 */
export class LogFile {
  readonly #file: number;
  readonly #forms: MaskedForms;
  readonly #bytesMax: number;
  #tail: Buffer = Buffer.alloc(0);
  #size = 0;
  #crc = 0;
  #full = false;

  constructor(file: string, forms: MaskedForms, bytesMax = logBytesMax, flags = "wx+") {
    this.#file = openSync(file, flags, 0o600);
    this.#forms = forms;
    this.#bytesMax = bytesMax;
  }

  /** The log of an agent that was killed, to be sent and ended by the one started after it. */
  static reopen(file: string): LogFile {
    const log = new LogFile(file, [], logBytesMax, "r+");
    const { size } = fstatSync(log.#file);
    while (log.#size < size) {
      const piece = Buffer.alloc(Math.min(copyBytes, size - log.#size));
      const bytes = readSync(log.#file, piece, 0, piece.length, log.#size);
      log.#crc = crc32(piece.subarray(0, bytes), log.#crc);
      log.#size += bytes;
    }
    log.#full = size > log.#bytesMax;
    return log;
  }

  /** Bytes that are ready to be sent. */
  get size(): number {
    return this.#size;
  }

  /** CRC-32 (IEEE) of these bytes, as the protocol writes it. */
  get checksum(): string {
    return `crc32:${this.#crc.toString(16).padStart(8, "0")}`;
  }

  write(data: Buffer | string): void {
    const piece = typeof data === "string" ? Buffer.from(data) : data;
    const { final, tail } = maskPiece(Buffer.concat([this.#tail, piece]), this.#forms);
    this.#tail = tail;
    this.#append(final);
  }

  note(line: string): void {
    this.write(`${green}${line}${plain}\n`);
  }

  warn(line: string): void {
    this.write(`${yellow}WARNING: ${line}${plain}\n`);
  }

  error(line: string): void {
    this.write(`${red}ERROR: ${line}${plain}\n`);
  }

  title(line: string): void {
    this.write(`\u001b[0KRunning ${line}${plain}\n`);
  }

  /** Marks that pages fold: the times are seconds since 1970. */
  async section<Result>(name: string, title: string, run: () => Promise<Result>): Promise<Result> {
    const mark = (kind: "start" | "end"): string =>
      `section_${kind}:${Math.floor(Date.now() / 1_000)}:${name}\r\u001b[0K`;
    this.write(`${mark("start")}\u001b[36;1m${title}${plain}\n`);
    try {
      return await run();
    } finally {
      this.write(`${mark("end")}\n`);
    }
  }

  read(from: number, bytesMax: number): Buffer {
    const piece = Buffer.alloc(Math.min(bytesMax, this.#size - from));
    const bytes = readSync(this.#file, piece, 0, piece.length, from);
    return piece.subarray(0, bytes);
  }

  /** Nothing more comes: what was held back is ready as well. */
  end(): void {
    const rest = mask(this.#tail, this.#forms);
    this.#tail = Buffer.alloc(0);
    this.#append(rest);
    fsyncSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }

  #append(data: Buffer): void {
    if (this.#full || data.length === 0) return;
    const left = this.#bytesMax - this.#size;
    this.#full = data.length > left;
    const line = `\n${red}The log is longer than ${this.#bytesMax} bytes: the rest is not kept.${plain}\n`;
    const kept = this.#full ? Buffer.concat([data.subarray(0, left), Buffer.from(line)]) : data;
    const written = kept.subarray(0, this.#write(kept));
    this.#size += written.length;
    this.#crc = crc32(written, this.#crc);
  }

  /** How many bytes the disk took. A job may fill it; its agent and the other jobs go on, without the rest. */
  #write(data: Buffer): number {
    let at = 0;
    try {
      while (at < data.length) {
        at += writeSync(this.#file, data, at, data.length - at, this.#size + at);
      }
    } catch (error) {
      if (!isFull(error)) throw error;
      this.#full = true;
    }
    return at;
  }
}

const isFull = (error: unknown): boolean =>
  ["ENOSPC", "EDQUOT"].includes(String((error as NodeJS.ErrnoException).code));
