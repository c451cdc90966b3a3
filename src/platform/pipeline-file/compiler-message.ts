import type { CompiledPipeline, PipelineFacts } from "./compile.ts";
import type { FileProblem, FileText } from "./value.ts";

/** What the thread queries from the service while it compiles, one form for each function of the facts. */
type FactQueries = Required<
  Pick<
    PipelineFacts,
    "readFile" | "readProjectFile" | "readArtifact" | "paths" | "changedPaths" | "hashOf"
  >
>;
export type Ask = {
  [Name in keyof FactQueries]: Readonly<{ name: Name; args: Parameters<FactQueries[Name]> }>;
}[keyof FactQueries];

type Variables = readonly (readonly [string, string])[];

export type PlainFacts = Readonly<{
  predefined: Variables;
  outer: Variables;
  /** Whether there is `readArtifact`. */
  hasArtifacts: boolean;
}> &
  Pick<PipelineFacts, "ref" | "isTag" | "source">;

export type ToThread =
  | Readonly<{ kind: "compile"; text: FileText; fileName: string; facts: PlainFacts }>
  | Readonly<{ kind: "answer"; question: number; answer: unknown }>;

export type FromThread =
  | Readonly<{ kind: "ready" }>
  | Readonly<{ kind: "ask"; question: number; ask: Ask }>
  | Readonly<{ kind: "compiled"; compiled: CompiledPipeline }>
  | Readonly<{ kind: "problems"; problems: readonly FileProblem[] }>
  | Readonly<{ kind: "failed"; reason: string }>;
