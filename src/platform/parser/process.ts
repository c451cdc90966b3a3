import { type ChildProcess, fork } from "node:child_process";
import path from "node:path";

import { isBuilt, programRoot } from "../installation.ts";
import { Refusal } from "../refusal.ts";
import type { FromParser, ToParser } from "./message.ts";
import { processorMs, residentMebibytes } from "./process-use.ts";
import { TooComplex } from "./refusal.ts";

export type ProcessTask = Readonly<{
  module: string;
  question: unknown;
  /** Time of processors, from when its module is loaded until the answer. */
  timeoutMs: number;
  mebibytesMax: number;
  /** Answers what the task requests. What it throws ends the task. */
  reply: (wanted: unknown) => Promise<unknown>;
}>;

type Running = Readonly<{
  task: ProcessTask;
  resolve: (answer: unknown) => void;
  reject: (error: unknown) => void;
}>;

const startTimeoutMs = 30_000;
const watchIntervalMs = 50;
/** On a busy machine, and while it waits for replies, a task takes longer than the time of processors that it uses. */
const elapsedPerProcessorMs = 6;
/** What the program itself takes beside its heap. */
const baseMebibytes = 128;

/** A process that runs one task at a time. It is killed when a task exceeds its limits. */
export class ParserProcess {
  readonly #child: ChildProcess;
  #running: Running | undefined;
  #timer: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  /** Time of processors that was used before the task; undefined until it begins, and where it is not known. */
  #usedMs: number | undefined;
  #isEnded = false;

  constructor(readonly heapMebibytes: number) {
    const program = path.join(programRoot, `src/platform/parser/worker.${isBuilt ? "js" : "ts"}`);
    const loader = isBuilt ? [] : [`--import=${import.meta.resolve("tsx")}`];
    // Its own id: the process may start only after this one was killed.
    this.#child = fork(program, [String(process.pid)], {
      env: { MALLOC_ARENA_MAX: "2" },
      execArgv: [...loader, `--max-old-space-size=${heapMebibytes}`],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#child.on("message", (message: FromParser) => this.#receive(message));
    this.#child.on("error", (error) => this.#fail(error));
    this.#child.on("exit", (code, signal) => this.#fail(endedBy(code, signal)));
    this.#keepsRunning(false);
  }

  /** Whether it takes another task. */
  get isAlive(): boolean {
    return !this.#isEnded && this.#child.connected;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  run(task: ProcessTask): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#running = { task, resolve, reject };
      this.#keepsRunning(true);
      this.#limit(startTimeoutMs);
      this.#watch = setInterval(() => this.#watchUse(task), watchIntervalMs).unref();
      try {
        this.#send({ kind: "run", module: task.module, question: task.question });
      } catch (error) {
        // The question cannot be sent.
        this.#settle(({ reject: fail }) => fail(error));
      }
    });
  }

  end(): void {
    this.#fail(new Error("The process that parses is ended"));
  }

  /** What runs stays without an answer. */
  kill(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#child.kill("SIGKILL");
  }

  /** Whether this process stays while the other one does: as long as a caller waits for an answer. */
  #keepsRunning(isAwaited: boolean): void {
    const how = isAwaited ? "ref" : "unref";
    this.#child[how]();
    this.#child.channel?.[how]();
  }

  #send(message: ToParser): void {
    // A process that has ended is reported by its exit.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  #limit(limitMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fail(new TooComplex("time")), limitMs).unref();
  }

  #watchUse({ mebibytesMax, timeoutMs }: ProcessTask): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    const resident = residentMebibytes(pid) ?? 0;
    if (resident > mebibytesMax + baseMebibytes) {
      this.#fail(new TooComplex("memory"));
      return;
    }
    if (this.#usedMs === undefined) return;
    const usedMs = (processorMs(pid) ?? 0) - this.#usedMs;
    if (usedMs > timeoutMs) this.#fail(new TooComplex("time"));
  }

  #begin({ timeoutMs }: ProcessTask): void {
    this.#usedMs = this.#child.pid === undefined ? undefined : processorMs(this.#child.pid);
    this.#limit(this.#usedMs === undefined ? timeoutMs : elapsedPerProcessorMs * timeoutMs);
  }

  #receive(message: FromParser): void {
    const running = this.#running;
    if (running === undefined) return;
    switch (message.kind) {
      case "begun":
        this.#begin(running.task);
        return;
      case "request":
        void this.#reply(running, message.request, message.wanted);
        return;
      case "done":
        this.#settle(({ resolve }) => resolve(message.answer));
        return;
      case "refused": {
        const { kind, code, message: text, details } = message.refusal;
        this.#settle(({ reject }) => reject(new Refusal(kind, code, text, details)));
        return;
      }
      case "failed":
        this.#settle(({ reject }) => reject(new Error(message.reason)));
    }
  }

  async #reply(running: Running, request: number, wanted: unknown): Promise<void> {
    try {
      const reply = await running.task.reply(wanted);
      if (running === this.#running) this.#send({ kind: "reply", request, reply });
    } catch (error) {
      // The task waits for a reply that does not come: its process cannot take another one.
      if (running === this.#running) this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.kill();
    this.#settle(({ reject }) => reject(error));
  }

  #settle(how: (running: Running) => void): void {
    clearTimeout(this.#timer);
    clearInterval(this.#watch);
    const running = this.#running;
    this.#running = undefined;
    this.#usedMs = undefined;
    this.#keepsRunning(false);
    if (running !== undefined) how(running);
  }
}

/** Node.js ends itself by a signal when its heap is full. */
function endedBy(code: number | null, signal: NodeJS.Signals | null): Error {
  const isFull =
    signal === "SIGABRT" || signal === "SIGTRAP" || signal === "SIGILL" || code === 134;
  // A system that is short of memory kills the process.
  if (isFull || signal === "SIGKILL" || signal === "SIGSEGV") return new TooComplex("memory");
  return new Error(`The process that parses ended by ${signal ?? `code ${code}`}`);
}
