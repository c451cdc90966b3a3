import type { Worker } from "node:worker_threads";

import { startThread } from "./thread.ts";

/** Beyond these a file is shown without colours. */
const textLengthMax = 512 * 1024;
const lineLengthMax = 10_000;
const waitingMax = 64;
const timeoutMsDefault = 1_500;
/** Until the thread has loaded the languages. */
const startTimeoutMs = 20_000;
/** A file a thread chokes on takes this, not the service's memory. */
const threadMebibytesMax = 256;

/**
 * HTML of each line. Null when there is none for such a text: its language is not known, or it is too
 * large. Undefined when there was none this time: it took too long, or too many were waiting.
 */
export type Coloured = readonly string[] | null | undefined;

type Job = Readonly<{
  text: string;
  fileName: string;
  resolve: (lines: Coloured) => void;
}>;

type Message = "ready" | Readonly<{ lines: readonly string[] | null }>;

/**
 * Colours source text by the name of its file, with spans of highlight.js classes and everything else
 * escaped, in a thread that is ended when it takes too long.
 */
export class Highlighter {
  readonly #timeoutMs: number;
  readonly #jobs: Job[] = [];
  #thread: Worker | undefined;
  #ready = false;
  #running: Job | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs = timeoutMsDefault) {
    this.#timeoutMs = timeoutMs;
  }

  lines(text: string, fileName: string): Promise<Coloured> {
    if (text === "" || text.length > textLengthMax || hasLongLine(text))
      return Promise.resolve(null);
    if (this.#jobs.length >= waitingMax) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#jobs.push({ text, fileName, resolve });
      this.#next();
    });
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#settle(undefined);
    for (const { resolve } of this.#jobs.splice(0)) resolve(undefined);
    this.#thread = undefined;
    await thread?.terminate();
  }

  #next(): void {
    if (this.#running !== undefined) return;
    const job = this.#jobs.shift();
    if (job === undefined) return;
    this.#running = job;
    const thread = this.#thread ?? this.#start();
    thread.postMessage({ text: job.text, fileName: job.fileName });
    this.#limit(thread, this.#ready ? this.#timeoutMs : startTimeoutMs);
  }

  #limit(thread: Worker, timeoutMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#drop(thread), timeoutMs);
    this.#timer.unref();
  }

  #start(): Worker {
    const thread = startThread("platform/highlight-thread", threadMebibytesMax);
    thread.on("message", (message: Message) => {
      if (thread !== this.#thread) return;
      if (message === "ready") {
        this.#ready = true;
        if (this.#running !== undefined) this.#limit(thread, this.#timeoutMs);
        return;
      }
      this.#settle(message.lines);
      this.#next();
    });
    thread.on("error", () => this.#drop(thread));
    // It ends with the process, whatever it is at. Not earlier: a listener would undo it.
    thread.unref();
    this.#thread = thread;
    return thread;
  }

  /** What it was at stays without colours; the rest goes to a new one. */
  #drop(thread: Worker): void {
    if (thread !== this.#thread) return;
    this.#thread = undefined;
    this.#ready = false;
    void thread.terminate();
    this.#settle(undefined);
    this.#next();
  }

  #settle(lines: Coloured): void {
    clearTimeout(this.#timer);
    this.#running?.resolve(lines);
    this.#running = undefined;
  }
}

function hasLongLine(text: string): boolean {
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const next = end < 0 ? text.length : end;
    if (next - at > lineLengthMax) return true;
    at = next + 1;
  }
  return false;
}
