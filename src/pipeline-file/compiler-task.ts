import { compilePipeline, type PipelineFacts } from "./compile.ts";
import type { Ask, CompileAnswer, CompileQuestion, PlainFacts } from "./compiler-message.ts";
import { PipelineFileError } from "./value.ts";

type Query = (wanted: Ask) => Promise<unknown>;

/** A file may take long to read. The service is queried for what it refers to. */
export async function run(question: CompileQuestion, query: Query): Promise<CompileAnswer> {
  try {
    const { text, fileName, facts } = question;
    return { compiled: await compilePipeline(text, fileName, factsBy(query, facts)) };
  } catch (error) {
    if (error instanceof PipelineFileError) return { problems: error.problems };
    throw error;
  }
}

function factsBy(query: Query, { hasArtifacts, ...plain }: PlainFacts): PipelineFacts {
  // The service answers with what the fact of this name returns.
  const ask = <Name extends Ask["name"]>(
    name: Name,
    args: Extract<Ask, { name: Name }>["args"],
  ): Promise<never> => query({ name, args } as Ask) as Promise<never>;
  return {
    ...plain,
    ...(hasArtifacts && { readArtifact: (...args) => ask("readArtifact", args) }),
    readFile: (path) => ask("readFile", [path]),
    readProjectFile: (...args) => ask("readProjectFile", args),
    paths: () => ask("paths", []),
    changedPaths: (compareTo) => ask("changedPaths", [compareTo]),
    hashOf: (paths) => ask("hashOf", [paths]),
  };
}
