import { type KeyedLock, keyedLock } from "../platform/keyed-lock.ts";
import { Limit } from "../platform/limit.ts";
import { ParserTask } from "../platform/parser/parser.ts";
import { TooComplex } from "../platform/parser/refusal.ts";
import { Refusal } from "../platform/refusal.ts";
import type { CompiledPipeline, PipelineFacts } from "./compile.ts";
import type { CompileAnswer, CompileQuestion, FactRequest } from "./compiler-message.ts";
import { type FileText, PipelineFileError } from "./value.ts";

const waitingMax = 200;
/** Of them, those of one user. */
export const waitingPerUserMax = 25;
/** Of one file, the reading of what it includes among it. */
const timeoutMsDefault = 20_000;

export type FileToCompile = Readonly<{
  text: FileText;
  /** As messages name it. */
  fileName: string;
  /** Id of the user who started it, or of the owner of the project where no user did. */
  user: string;
  /** Id of the project that it is compiled for. */
  project: string;
}>;

/**
 * `compilePipeline` in a process of its own. Users take turns, and so do projects: a file waits for one file
 * of each user and project before it, however many they have.
 */
export class PipelineCompiler {
  readonly #task: ParserTask<CompileQuestion, CompileAnswer, FactRequest>;
  readonly #turns: KeyedLock = keyedLock();
  readonly #files = new Limit({
    ...{ name: "pipeline.files", total: waitingMax, share: waitingPerUserMax },
    ...{ whenFull: "refuse", refusal: pipelinesBusy },
  });

  constructor(timeoutMs = timeoutMsDefault) {
    const module = "pipeline-file/compiler-task";
    this.#task = new ParserTask({ module, timeoutMs, mebibytesMax: 512, waitingMax });
  }

  /**
   * @throws PipelineFileError, also for a file that takes too much time or memory; Refusal 503 `pipeline.busy`
   *   when too many wait, of all users or of this one; what a function of the facts throws
   */
  async compile(file: FileToCompile, facts: PipelineFacts): Promise<CompiledPipeline> {
    const { user, project } = file;
    const hold = this.#files.take(1, { caller: user });
    try {
      // The turn of the user first: who waits in one project for others has one file there, not many.
      return await this.#turns(`user ${user}`, () =>
        this.#turns(`project ${project}`, () => this.#run(file, facts)),
      );
    } finally {
      hold.leave();
    }
  }

  async #run(file: FileToCompile, facts: PipelineFacts): Promise<CompiledPipeline> {
    try {
      const reply = (wanted: FactRequest) => factOf(facts, wanted);
      const answer = await this.#task.run(questionOf(file, facts), { reply, caller: file.user });
      if ("problems" in answer) throw new PipelineFileError(answer.problems);
      return answer.compiled;
    } catch (error) {
      if (!(error instanceof TooComplex)) throw error;
      const { message } = error;
      throw new PipelineFileError([{ file: file.fileName, line: 1, column: 1, key: "", message }]);
    }
  }
}

function questionOf({ text, fileName }: FileToCompile, facts: PipelineFacts): CompileQuestion {
  const { ref, isTag, source, predefined, outer, atStart } = facts;
  const hasArtifacts = facts.readArtifact !== undefined;
  const plain = { ref, isTag, source, predefined, outer, atStart, hasArtifacts };
  return { text, fileName, facts: plain };
}

function factOf(facts: PipelineFacts, { name, args }: FactRequest): Promise<unknown> {
  // Name and arguments belong together; the compiler cannot see it through the union.
  return (facts[name] as (...given: readonly unknown[]) => Promise<unknown>)(...args);
}

function pipelinesBusy(): Refusal {
  const message = "Too many pipeline files wait to be read.";
  return new Refusal("unavailable", "pipeline.busy", message, { retryAfterSeconds: 5 });
}
