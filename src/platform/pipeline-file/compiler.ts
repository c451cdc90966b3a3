import type { Worker } from "node:worker_threads";

import { Refusal } from "../refusal.ts";
import { startThread } from "../thread.ts";
import type { CompiledPipeline, PipelineFacts } from "./compile.ts";
import type { Ask, FromThread, ToThread } from "./compiler-message.ts";
import { PipelineFileError } from "./value.ts";

const waitingMax = 200;
/** Of one file, the reading of what it includes among it. */
const timeoutMsDefault = 20_000;
const startTimeoutMs = 30_000;
const threadMebibytesMax = 512;

export type PipelineCompiler = Readonly<{
  /**
   * `compilePipeline` in a thread of its own, one file after another.
   *
   * @throws PipelineFileError, also for a file that takes too long; Refusal 503 `pipeline.busy`
   *   when too many wait; what a function of the facts throws
   */
  compile: (text: string, fileName: string, facts: PipelineFacts) => Promise<CompiledPipeline>;
  close: () => Promise<void>;
}>;

type Task = Readonly<{
  text: string;
  fileName: string;
  facts: PipelineFacts;
  resolve: (compiled: CompiledPipeline) => void;
  reject: (error: unknown) => void;
}>;

export function pipelineCompiler(timeoutMs = timeoutMsDefault): PipelineCompiler {
  const compiler = new ThreadCompiler(timeoutMs);
  return {
    compile: (text, fileName, facts) => compiler.compile(text, fileName, facts),
    close: () => compiler.close(),
  };
}

class ThreadCompiler {
  readonly #timeoutMs: number;
  readonly #tasks: Task[] = [];
  #running: Task | undefined;
  #thread: Worker | undefined;
  #isReady = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  compile(text: string, fileName: string, facts: PipelineFacts): Promise<CompiledPipeline> {
    if (this.#tasks.length >= waitingMax) {
      const message = "Too many pipeline files wait to be read.";
      const retry = { retryAfterSeconds: 5 };
      return Promise.reject(new Refusal("unavailable", "pipeline.busy", message, retry));
    }
    return new Promise((resolve, reject) => {
      this.#tasks.push({ text, fileName, facts, resolve, reject });
      this.#next();
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const closed = new Error("The pipeline compiler is closed");
    for (const { reject } of this.#tasks.splice(0)) reject(closed);
    this.#running?.reject(closed);
    this.#running = undefined;
    await this.#thread?.terminate();
    this.#thread = undefined;
  }

  #next(): void {
    if (this.#running !== undefined) return;
    this.#running = this.#tasks.shift();
    if (this.#running === undefined) return;
    const { text, fileName, facts } = this.#running;
    const { ref, isTag, source, predefined, outer } = facts;
    const variables = { predefined: [...predefined], outer: [...outer] };
    const hasArtifacts = facts.readArtifact !== undefined;
    const plain = { ref, isTag, source, ...variables, hasArtifacts };
    this.#thread ??= this.#start();
    send(this.#thread, { kind: "compile", text, fileName, facts: plain });
    this.#limit(this.#isReady ? this.#timeoutMs : startTimeoutMs);
  }

  #limit(limitMs: number): void {
    clearTimeout(this.#timer);
    const { fileName } = this.#running ?? { fileName: "" };
    this.#timer = setTimeout(() => this.#drop(tooLong(fileName)), limitMs).unref();
  }

  #start(): Worker {
    const started = startThread("platform/pipeline-file/compiler-thread", threadMebibytesMax);
    started.on("message", (message: FromThread) => {
      if (started === this.#thread) this.#receive(started, message);
    });
    started.on("error", (error) => {
      if (started === this.#thread) this.#drop(error);
    });
    // It ends with the process, whatever it does.
    started.unref();
    return started;
  }

  #receive(from: Worker, message: FromThread): void {
    switch (message.kind) {
      case "ready":
        this.#isReady = true;
        if (this.#running !== undefined) this.#limit(this.#timeoutMs);
        return;
      case "ask":
        void this.#answer(from, message.question, message.ask);
        return;
      case "compiled":
        this.#settle((task) => task.resolve(message.compiled));
        return;
      case "problems":
        this.#settle((task) => task.reject(new PipelineFileError(message.problems)));
        return;
      case "failed":
        this.#settle((task) => task.reject(new Error(message.reason)));
    }
  }

  async #answer(from: Worker, question: number, query: Ask): Promise<void> {
    const task = this.#running;
    if (task === undefined) return;
    try {
      const known = await factOf(task.facts, query);
      if (task === this.#running) send(from, { kind: "answer", question, answer: known });
    } catch (error) {
      // The thread waits for an answer that does not come; the next task starts anew there.
      if (task === this.#running) this.#settle(({ reject }) => reject(error));
    }
  }

  #settle(how: (task: Task) => void): void {
    clearTimeout(this.#timer);
    const task = this.#running;
    this.#running = undefined;
    if (task !== undefined) how(task);
    this.#next();
  }

  #drop(error: unknown): void {
    void this.#thread?.terminate();
    this.#thread = undefined;
    this.#isReady = false;
    this.#settle(({ reject }) => reject(error));
  }
}

const send = (to: Worker, message: ToThread): void => to.postMessage(message);

function factOf(facts: PipelineFacts, { name, args }: Ask): Promise<unknown> {
  // Name and arguments belong together; the compiler cannot see it through the union.
  return (facts[name] as (...given: readonly unknown[]) => Promise<unknown>)(...args);
}

function tooLong(fileName: string): PipelineFileError {
  const message = "The file takes too long to read.";
  return new PipelineFileError([{ file: fileName, line: 1, column: 1, key: "", message }]);
}
