import { compilePipeline, type PipelineFacts } from "./compile.ts";
import type {
  CompileAnswer,
  CompileQuestion,
  FactRequest,
  PlainFacts,
} from "./compiler-message.ts";
import { PipelineFileError } from "./value.ts";

type Query = (wanted: FactRequest) => Promise<unknown>;

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
  const requestFact = <Name extends FactRequest["name"]>(
    name: Name,
    args: Extract<FactRequest, { name: Name }>["args"],
  ): Promise<never> => query({ name, args } as FactRequest) as Promise<never>;
  return {
    ...plain,
    ...(hasArtifacts && { readArtifact: (...args) => requestFact("readArtifact", args) }),
    readFile: (path) => requestFact("readFile", [path]),
    readProjectFile: (...args) => requestFact("readProjectFile", args),
    paths: () => requestFact("paths", []),
    changedPaths: (compareTo) => requestFact("changedPaths", [compareTo]),
    hashOf: (paths) => requestFact("hashOf", [paths]),
  };
}
