import { parentPort } from "node:worker_threads";

import { compilePipeline, type PipelineFacts } from "./compile.ts";
import type { Ask, FromThread, PlainFacts, ToThread } from "./compiler-message.ts";
import { PipelineFileError } from "./value.ts";

/** Runs in a thread of its own: a file that takes long to read holds up nothing else. */
const port = parentPort;
const waiting = new Map<number, (answer: unknown) => void>();
let questions = 0;

const post = (message: FromThread): void => port?.postMessage(message);

function ask<Name extends Ask["name"]>(
  name: Name,
  args: Extract<Ask, { name: Name }>["args"],
): Promise<never> {
  questions += 1;
  const question = questions;
  return new Promise((resolve) => {
    // The service answers with what the fact of this name returns.
    waiting.set(question, resolve as (answer: unknown) => void);
    post({ kind: "ask", question, ask: { name, args } as Ask });
  });
}

const factsFrom = ({ predefined, outer, hasArtifacts, ...refs }: PlainFacts): PipelineFacts => ({
  ...refs,
  ...(hasArtifacts && { readArtifact: (...args) => ask("readArtifact", args) }),
  predefined: new Map(predefined),
  outer: new Map(outer),
  readFile: (path) => ask("readFile", [path]),
  readProjectFile: (...args) => ask("readProjectFile", args),
  paths: () => ask("paths", []),
  changedPaths: (compareTo) => ask("changedPaths", [compareTo]),
  hashOf: (paths) => ask("hashOf", [paths]),
});

port?.on("message", (message: ToThread) => {
  if (message.kind === "answer") {
    waiting.get(message.question)?.(message.answer);
    waiting.delete(message.question);
    return;
  }
  waiting.clear();
  const { text, fileName, facts } = message;
  compilePipeline(text, fileName, factsFrom(facts)).then(
    (compiled) => post({ kind: "compiled", compiled }),
    (error: unknown) =>
      post(
        error instanceof PipelineFileError
          ? { kind: "problems", problems: error.problems }
          : {
              kind: "failed",
              reason: error instanceof Error ? String(error.stack) : String(error),
            },
      ),
  );
});
post({ kind: "ready" });
