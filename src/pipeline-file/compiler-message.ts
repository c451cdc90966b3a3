import type { CompiledPipeline, PipelineFacts } from "./compile.ts";
import type { FileProblem, FileText } from "./value.ts";

/** What the compiler queries from the service while it compiles, one form for each function of the facts. */
type FactQueries = Required<
  Pick<
    PipelineFacts,
    "readFile" | "readProjectFile" | "readArtifact" | "paths" | "changedPaths" | "hashOf"
  >
>;
export type FactRequest = {
  [Name in keyof FactQueries]: Readonly<{ name: Name; args: Parameters<FactQueries[Name]> }>;
}[keyof FactQueries];

export type PlainFacts = Readonly<{
  /** Whether there is `readArtifact`. */
  hasArtifacts: boolean;
}> &
  Pick<PipelineFacts, "ref" | "isTag" | "source" | "predefined" | "outer" | "atStart">;

export type CompileQuestion = Readonly<{ text: FileText; fileName: string; facts: PlainFacts }>;

export type CompileAnswer =
  | Readonly<{ compiled: CompiledPipeline }>
  | Readonly<{ problems: readonly FileProblem[] }>;
