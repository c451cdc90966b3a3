import path from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

import { isBuilt, programRoot } from "./installation.ts";

/**
 * Starts a program of this service in a thread without environment variables.
 *
 * @param name path below `src` without an extension
 * @param memoryMebibytesMax the thread ends when it needs more
 */
export function startThread(name: string, memoryMebibytesMax: number): Worker {
  const program = pathToFileURL(path.join(programRoot, `src/${name}.${isBuilt ? "js" : "ts"}`));
  const options = { env: {}, resourceLimits: { maxOldGenerationSizeMb: memoryMebibytesMax } };
  if (isBuilt) return new Worker(program, options);
  // The loader that reads TypeScript in development does not reach into threads by itself.
  const loader = JSON.stringify(import.meta.resolve("tsx/esm/api"));
  const source = `import(${loader}).then((tsx) => tsx.tsImport("${program}", "${import.meta.url}"))`;
  return new Worker(source, { ...options, eval: true });
}
