import type { Worker } from "node:worker_threads";

import { CallerShare, currentCaller } from "./caller-share.ts";
import { startThread } from "./thread.ts";

export type TimedThreadOptions = Readonly<{
  /** Path below `src` without an extension; see startThread. It posts "ready" once it takes questions. */
  program: string;
  /** Until the thread has loaded what it needs. */
  startTimeoutMs: number;
  timeoutMs: number;
  /** The thread ends when it needs more. */
  mebibytesMax: number;
  waitingMax: number;
}>;

type Job<Question, Answer> = Readonly<{
  question: Question;
  resolve: (answer: Answer | undefined) => void;
}>;

/** Requests of one caller that wait or run; a page sends few at a time. */
const perCallerMax = 8;

/**
 * Sends a program in a thread one question after the other. The thread is ended when an answer takes too
 * long, or when the program fails; the next question starts a new one.
 */
export class TimedThread<Question, Answer> {
  readonly #options: TimedThreadOptions;
  readonly #jobs: Job<Question, Answer>[] = [];
  readonly #share = new CallerShare(perCallerMax);
  #thread: Worker | undefined;
  #ready = false;
  #running: Job<Question, Answer> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TimedThreadOptions) {
    this.#options = options;
  }

  /** Whether a question of this caller would wait now, instead of being turned away. */
  hasRoom(): boolean {
    const isFull = this.#jobs.length >= this.#options.waitingMax;
    return !isFull && this.#share.hasRoom(currentCaller());
  }

  /**
   * Undefined when there was no answer this time: it took too long, or too many were waiting, of all
   * callers or of this one.
   */
  async ask(question: Question): Promise<Answer | undefined> {
    const caller = currentCaller();
    if (!this.hasRoom()) return undefined;
    this.#share.take(caller);
    try {
      return await new Promise<Answer | undefined>((resolve) => {
        this.#jobs.push({ question, resolve });
        this.#next();
      });
    } finally {
      this.#share.giveBack(caller);
    }
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
    thread.postMessage(job.question);
    const { timeoutMs, startTimeoutMs } = this.#options;
    this.#limit(thread, this.#ready ? timeoutMs : startTimeoutMs);
  }

  #limit(thread: Worker, timeoutMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#drop(thread), timeoutMs);
    this.#timer.unref();
  }

  #start(): Worker {
    const thread = startThread(this.#options.program, this.#options.mebibytesMax);
    thread.on("message", (message: "ready" | Readonly<{ answer: Answer }>) => {
      if (thread !== this.#thread) return;
      if (message === "ready") {
        this.#ready = true;
        if (this.#running !== undefined) this.#limit(thread, this.#options.timeoutMs);
        return;
      }
      this.#settle(message.answer);
      this.#next();
    });
    thread.on("error", () => this.#drop(thread));
    // It ends with the process, whatever it is at. Not earlier: a listener would undo it.
    thread.unref();
    this.#thread = thread;
    return thread;
  }

  /** The running question stays without an answer; the rest goes to a new thread. */
  #drop(thread: Worker): void {
    if (thread !== this.#thread) return;
    this.#thread = undefined;
    this.#ready = false;
    void thread.terminate();
    this.#settle(undefined);
    this.#next();
  }

  #settle(answer: Answer | undefined): void {
    clearTimeout(this.#timer);
    this.#running?.resolve(answer);
    this.#running = undefined;
  }
}
