import { type SimpleGit, simpleGit } from "simple-git";

import { gitEnvironment } from "./environment.ts";

const blockTimeoutMs = 10 * 60_000;

/**
 * simple-git under our environment, for commands that end with a short text. Its guards against
 * variables and settings are lifted for exactly those we set ourselves.
 */
export function administration(baseDir: string): SimpleGit {
  const environment = gitEnvironment();
  return simpleGit({
    baseDir,
    maxConcurrentProcesses: 4,
    timeout: { block: blockTimeoutMs },
    allowEnvironment: Object.keys(environment),
    unsafe: {
      allowUnsafeConfigEnvCount: true,
      allowUnsafeConfigPaths: true,
      allowUnsafeHooksPath: true,
      allowUnsafeFsMonitor: true,
      allowUnsafeProtocolOverride: true,
      allowUnsafeTemplateDir: true,
    },
  }).env({ ...environment });
}
