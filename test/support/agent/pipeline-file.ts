import { compilePipeline, type PipelineFacts } from "../../../src/pipeline-file/compile.ts";
import { PipelineFileError } from "../../../src/pipeline-file/value.ts";

type Given = Partial<Omit<PipelineFacts, "predefined" | "outer" | "atStart">> &
  Readonly<{
    files?: Readonly<Record<string, string>>;
    changed?: readonly string[];
    predefined?: Readonly<Record<string, string>>;
    outer?: Readonly<Record<string, string>>;
    /** Of `outer`. */
    atStart?: Readonly<Record<string, string>>;
  }>;

/** A pipeline of `main` pushed with these files, unless `given` overrides it. */
export function facts(given: Given = {}): PipelineFacts {
  const { files = {}, changed, predefined = {}, outer = {}, atStart = {}, ...rest } = given;
  return {
    ref: "main",
    isTag: false,
    source: "PUSH",
    readFile: async (path) => files[path],
    readProjectFile: async () => undefined,
    paths: async () => Object.keys(files),
    changedPaths: async () => changed,
    hashOf: async (paths) => `hash of ${paths.join(" ")}`,
    predefined: new Map(Object.entries(predefined)),
    outer: new Map(Object.entries({ ...outer, ...atStart })),
    atStart: new Map(Object.entries(atStart)),
    ...rest,
  };
}

export const compile = (text: string, given?: Given) =>
  compilePipeline(text, ".forge-ci.yaml", facts(given));

/** What is wrong with the file, as `line:column key: message`. */
export async function problems(text: string, given?: Given): Promise<readonly string[]> {
  try {
    await compile(text, given);
  } catch (error) {
    if (!(error instanceof PipelineFileError)) throw error;
    return error.problems.map(
      ({ line, column, key, message }) => `${line}:${column} ${key}: ${message}`,
    );
  }
  return [];
}
