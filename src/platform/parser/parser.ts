import { AsyncResource } from "node:async_hooks";
import path from "node:path";

import { asCaller, currentCaller } from "../caller.ts";
import { Limit } from "../limit.ts";
import { ParserProcess, type ProcessTask } from "./process.ts";
import { ParserBusy } from "./refusal.ts";

/** One of them is left to short tasks, which pages wait for. A caller never has all of them. */
const processesMax = 3;
const perCallerMax = 2;
const longTasksMax = 2;
const longTasksPerCallerMax = 1;
/** A task with a longer limit of time is a long one. */
const shortMsMax = 5_000;
const idleMsMax = 60_000;

/** Processes start when a task needs one, and end when none came for a while. */
class ParserPool {
  readonly #turns = new Limit({
    ...{ name: "parser.processes", total: processesMax, share: perCallerMax },
    whenFull: "wait",
  });
  readonly #longTurns = new Limit({
    ...{ name: "parser.long_tasks", total: longTasksMax, share: longTasksPerCallerMax },
    whenFull: "wait",
  });
  readonly #all = new Map<ParserProcess, NodeJS.Timeout | undefined>();

  constructor() {
    process.on("exit", () => {
      for (const each of this.#all.keys()) each.kill();
    });
  }

  run(task: ProcessTask): Promise<unknown> {
    if (task.timeoutMs <= shortMsMax) return this.#inTurn(task);
    return this.#longTurns.run(() => this.#inTurn(task));
  }

  #inTurn(task: ProcessTask): Promise<unknown> {
    return this.#turns.run(async () => {
      const parser = this.#take(task.mebibytesMax);
      try {
        return await parser.run(task);
      } finally {
        this.#giveBack(parser);
      }
    });
  }

  /** One with the heap that the task may take; another idle one makes room. */
  #take(heapMebibytes: number): ParserProcess {
    const idle: ParserProcess[] = [];
    for (const [each, timer] of this.#all) {
      if (!each.isAlive) this.#end(each);
      else if (timer !== undefined) idle.push(each);
    }
    const fitting = idle.find((each) => each.heapMebibytes === heapMebibytes);
    if (fitting === undefined && this.#all.size >= processesMax && idle[0]) this.#end(idle[0]);
    const taken = fitting ?? new ParserProcess(heapMebibytes);
    clearTimeout(this.#all.get(taken));
    this.#all.set(taken, undefined);
    return taken;
  }

  #giveBack(parser: ParserProcess): void {
    if (!parser.isAlive) this.#end(parser);
    else this.#all.set(parser, setTimeout(() => this.#end(parser), idleMsMax).unref());
  }

  #end(parser: ParserProcess): void {
    clearTimeout(this.#all.get(parser));
    this.#all.delete(parser);
    parser.end();
  }
}

/** Made with the first task: most commands of the command line parse nothing. */
let pool: ParserPool | undefined;

export type ParserTaskOptions = Readonly<{
  /** Path of a module below `src` without an extension. It ends in `-task` and exports `run`. */
  module: string;
  /** Time of processors; where the system does not say it, time that passes. */
  timeoutMs: number;
  mebibytesMax: 256 | 512 | 1_024;
  /** Tasks of this kind that wait or run, of all callers and of each. */
  waitingMax?: number;
  perCallerMax?: number;
}>;

export type RunOptions<Wanted> = Readonly<{
  /** Answers what the task requests. It must not run another task: that could wait for this one. */
  reply?: (wanted: Wanted) => Promise<unknown>;
  /** In place of that of the task. */
  timeoutMs?: number;
  /** On whose behalf it runs; the current caller by default. */
  caller?: string | undefined;
}>;

/**
 * A function that runs in a process of its own, with limits of time, heap and resident memory: for documents
 * from outside, whatever it takes to read them. See docs/adr/0176-documents-in-processes.md.
 */
export class ParserTask<Question, Answer, Wanted = never> {
  readonly #options: ParserTaskOptions;
  readonly #limit: Limit;

  constructor(options: ParserTaskOptions) {
    this.#options = options;
    const { module, waitingMax: total = 64, perCallerMax: share = 8 } = options;
    const name = `parser.${path.basename(module, "-task").replaceAll("-", "_")}`;
    const refusal = () => new ParserBusy();
    this.#limit = new Limit({ name, total, share, whenFull: "refuse", refusal });
  }

  /** @throws TooComplex, ParserBusy; Refusals of the task; what the functions of the options throw */
  async run(question: Question, options: RunOptions<Wanted> = {}): Promise<Answer> {
    const { reply = noReply, caller = currentCaller() } = options;
    const hold = this.#limit.take(1, caller === undefined ? {} : { caller });
    const { module, mebibytesMax } = this.#options;
    const { timeoutMs = this.#options.timeoutMs } = options;
    // Messages of the process arrive in the context of the caller that started it.
    const inContext = AsyncResource.bind(reply as (wanted: unknown) => Promise<unknown>);
    pool ??= new ParserPool();
    const parsers = pool;
    const task = { module, question, timeoutMs, mebibytesMax, reply: inContext };
    const start = () => parsers.run(task);
    try {
      return (await (caller === undefined ? start() : asCaller(caller, start))) as Answer;
    } finally {
      hold.leave();
    }
  }
}

const noReply = (): Promise<never> => Promise.reject(new Error("The task may request nothing"));
