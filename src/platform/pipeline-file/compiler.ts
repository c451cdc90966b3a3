import type { Worker } from "node:worker_threads";

import { CallerShare } from "../caller-share.ts";
import { type KeyedLock, keyedLock } from "../keyed-lock.ts";
import { Refusal } from "../refusal.ts";
import { startThread } from "../thread.ts";
import type { CompiledPipeline, PipelineFacts } from "./compile.ts";
import type { Ask, FromThread, ToThread } from "./compiler-message.ts";
import { type FileText, PipelineFileError } from "./value.ts";

const waitingMax = 200;
/** Of them, those of one user. */
export const waitingPerUserMax = 25;
/** Of one file, the reading of what it includes among it. */
const timeoutMsDefault = 20_000;
const startTimeoutMs = 30_000;
const threadMebibytesMax = 512;

export type FileToCompile = Readonly<{
  text: FileText;
  /** As messages name it. */
  fileName: string;
  /** Id of the user who started it, or of the owner of the project where no user did. */
  user: string;
  /** Id of the project that it is compiled for. */
  project: string;
}>;

export type PipelineCompiler = Readonly<{
  /**
   * `compilePipeline` in a thread of its own, one file after another. Users take turns, and so do
   * projects: a file waits for one file of each user and project before it, however many they have.
   *
   * @throws PipelineFileError, also for a file that takes too long; Refusal 503 `pipeline.busy`
   *   when too many wait, of all users or of this one; what a function of the facts throws
   */
  compile: (file: FileToCompile, facts: PipelineFacts) => Promise<CompiledPipeline>;
  close: () => Promise<void>;
}>;

type Task = Readonly<{
  file: FileToCompile;
  facts: PipelineFacts;
  resolve: (compiled: CompiledPipeline) => void;
  reject: (error: unknown) => void;
}>;

export function pipelineCompiler(timeoutMs = timeoutMsDefault): PipelineCompiler {
  const compiler = new ThreadCompiler(timeoutMs);
  return {
    compile: (file, facts) => compiler.compile(file, facts),
    close: () => compiler.close(),
  };
}

class ThreadCompiler {
  readonly #timeoutMs: number;
  readonly #turns: KeyedLock = keyedLock();
  readonly #share = new CallerShare(waitingPerUserMax);
  /** One of each user and each project at most; their others wait for their turns. */
  readonly #tasks: Task[] = [];
  #waiting = 0;
  #isClosed = false;
  #running: Task | undefined;
  #thread: Worker | undefined;
  #isReady = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  async compile(file: FileToCompile, facts: PipelineFacts): Promise<CompiledPipeline> {
    const { user, project } = file;
    if (this.#waiting >= waitingMax || !this.#share.hasRoom(user)) throw pipelinesBusy();
    this.#waiting += 1;
    this.#share.take(user);
    try {
      // The turn of the user first: who waits in one project for others has one file there, not many.
      return await this.#turns(`user ${user}`, () =>
        this.#turns(`project ${project}`, () => this.#add(file, facts)),
      );
    } finally {
      this.#waiting -= 1;
      this.#share.giveBack(user);
    }
  }

  #add(file: FileToCompile, facts: PipelineFacts): Promise<CompiledPipeline> {
    if (this.#isClosed) return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      this.#tasks.push({ file, facts, resolve, reject });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const { reject } of this.#tasks.splice(0)) reject(closed());
    this.#running?.reject(closed());
    this.#running = undefined;
    await this.#thread?.terminate();
    this.#thread = undefined;
  }

  #next(): void {
    if (this.#running !== undefined) return;
    this.#running = this.#tasks.shift();
    if (this.#running === undefined) return;
    try {
      this.#thread ??= this.#start();
      send(this.#thread, messageOf(this.#running));
      this.#limit(this.#isReady ? this.#timeoutMs : startTimeoutMs);
    } catch (error) {
      // The system may refuse another thread. The tasks after this one try again.
      this.#drop(error);
    }
  }

  #limit(limitMs: number): void {
    clearTimeout(this.#timer);
    const fileName = this.#running?.file.fileName ?? "";
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

function messageOf({ file: { text, fileName }, facts }: Task): ToThread {
  const { ref, isTag, source, predefined, outer } = facts;
  const variables = { predefined: [...predefined], outer: [...outer] };
  const hasArtifacts = facts.readArtifact !== undefined;
  const plain = { ref, isTag, source, ...variables, hasArtifacts };
  return { kind: "compile", text, fileName, facts: plain };
}

function factOf(facts: PipelineFacts, { name, args }: Ask): Promise<unknown> {
  // Name and arguments belong together; the compiler cannot see it through the union.
  return (facts[name] as (...given: readonly unknown[]) => Promise<unknown>)(...args);
}

const closed = () => new Error("The pipeline compiler is closed");

export function pipelinesBusy(): Refusal {
  const message = "Too many pipeline files wait to be read.";
  return new Refusal("unavailable", "pipeline.busy", message, { retryAfterSeconds: 5 });
}

function tooLong(fileName: string): PipelineFileError {
  const message = "The file takes too long to read.";
  return new PipelineFileError([{ file: fileName, line: 1, column: 1, key: "", message }]);
}
