import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { gitEnvironment, memoryLimit } from "../environment.ts";
import { GitFailure } from "../failure.ts";
import { lastText } from "../last-text.ts";
import type { ObjectInfo, ObjectType } from "./object.ts";

export type StoredObject = ObjectInfo & Readonly<{ data: Buffer }>;

type Pending = Readonly<{
  wants: "info" | "contents";
  resolve: (object: StoredObject | undefined) => void;
  reject: (error: Error) => void;
}>;

const newline = 0x0a;
/** An answer that takes longer means a stuck disk or a broken process; its callers receive an error. */
const answerTimeoutMs = 30_000;
const noData = Buffer.alloc(0);

/**
 * One `git cat-file --batch-command` process. Answers come in the order of the questions, so many
 * may be under way at once. Names are object ids or full ref names only: no caller's text reaches
 * the process, so nobody can smuggle in a second command.
 */
export class CatFile {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #pending: Pending[] = [];
  #answered = 0;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** The object whose data is being read; undefined while waiting for a header line. */
  #header: ObjectInfo | undefined;
  #watch: NodeJS.Timeout | undefined;
  #ended: Error | undefined;

  constructor(
    gitDir: string,
    readonly onIdle: () => void,
    readonly onEnd: () => void,
  ) {
    this.#child = spawn("git", [`--git-dir=${gitDir}`, "cat-file", "--batch-command"], {
      env: gitEnvironment(memoryLimit),
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    const stderr = lastText(this.#child.stderr);
    // EPIPE: the end of the process is reported by "close".
    this.#child.stdin.on("error", () => undefined);
    this.#child.on("error", (error) => this.#end(error));
    this.#child.on("close", (code) =>
      this.#end(new GitFailure("cat-file", code, stderr() || "closed")),
    );
  }

  get pendingCount(): number {
    return this.#pending.length - this.#answered;
  }

  /** Type and size, or undefined when the repository has no such object. */
  async info(name: string): Promise<ObjectInfo | undefined> {
    const object = await this.#request("info", name);
    return object === undefined
      ? undefined
      : { id: object.id, type: object.type, bytes: object.bytes };
  }

  /** Reads the whole object into memory: query its size first. */
  contents(name: string): Promise<StoredObject | undefined> {
    return this.#request("contents", name);
  }

  close(): void {
    this.#child.stdin.end();
    this.#child.kill("SIGTERM");
  }

  #request(wants: Pending["wants"], name: string): Promise<StoredObject | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      this.#pending.push({ wants, resolve, reject });
      this.#child.stdin.write(`${wants} ${name}\n`);
      if (this.pendingCount === 1) this.#rewatch();
    });
  }

  #read(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Data of a large object comes in many chunks: they are joined once, when all are there.
    if (this.#header !== undefined && this.#bytes <= this.#header.bytes) return;

    let buffer = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    for (;;) {
      const rest = this.#header === undefined ? this.#readHeader(buffer) : this.#readData(buffer);
      if (rest === undefined) break;
      buffer = rest;
    }
    this.#chunks = buffer.length === 0 ? [] : [buffer];
    this.#bytes = buffer.length;
  }

  /** @returns what follows, or undefined when the line is not complete. */
  #readHeader(buffer: Buffer): Buffer | undefined {
    const end = buffer.indexOf(newline);
    if (end < 0) return undefined;
    const words = buffer.toString("latin1", 0, end).split(" ");
    const rest = buffer.subarray(end + 1);
    const [id = "", type, bytes] = words;
    if (bytes === undefined) {
      this.#answer(undefined);
      return rest;
    }
    const header = { id, type: type as ObjectType, bytes: Number(bytes) };
    if (this.#pending[this.#answered]?.wants === "info") {
      this.#answer({ ...header, data: noData });
    } else {
      this.#header = header;
    }
    return rest;
  }

  #readData(buffer: Buffer): Buffer | undefined {
    const header = this.#header;
    if (header === undefined || buffer.length <= header.bytes) return undefined;
    this.#header = undefined;
    // Copied, so that a cached small object does not keep a large read buffer alive.
    this.#answer({ ...header, data: Buffer.from(buffer.subarray(0, header.bytes)) });
    return buffer.subarray(header.bytes + 1);
  }

  #answer(object: StoredObject | undefined): void {
    const pending = this.#pending[this.#answered];
    this.#answered += 1;
    // Shifting for every answer would be quadratic over a long pipeline.
    if (this.#answered === this.#pending.length || this.#answered > 1024) {
      this.#pending.splice(0, this.#answered);
      this.#answered = 0;
    }
    pending?.resolve(object);
    this.#rewatch();
    if (this.pendingCount === 0) this.onIdle();
  }

  #rewatch(): void {
    clearTimeout(this.#watch);
    if (this.pendingCount === 0) return;
    this.#watch = setTimeout(() => this.#child.kill("SIGKILL"), answerTimeoutMs);
    this.#watch.unref();
  }

  #end(error: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    clearTimeout(this.#watch);
    for (const { reject } of this.#pending.splice(0).slice(this.#answered)) reject(error);
    this.#answered = 0;
    this.onEnd();
  }
}
