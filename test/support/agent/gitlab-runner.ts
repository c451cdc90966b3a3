import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { promisify } from "node:util";

import type { TestApp } from "../app/app.ts";
import { temporaryDirectory } from "../git/git.ts";
import { programPath } from "../process/program.ts";

export type GitlabRunner = Readonly<{
  /** Runs another of its commands, on the same configuration. */
  run: (...args: readonly string[]) => Promise<unknown>;
  /** Ends it as the manager of services does. */
  stop: () => Promise<void>;
}>;

/** Registers the installed gitlab-runner under the name `real`, and runs it until the file's tests are over. */
export async function startGitlabRunner(
  app: TestApp,
  owner: Readonly<{ base: string; token: string }>,
): Promise<GitlabRunner> {
  const home = await temporaryDirectory();
  const config = path.join(home, "config.toml");
  const env = { PATH: programPath, HOME: home };
  const run = (...args: readonly string[]) =>
    promisify(execFile)("gitlab-runner", [...args, "--config", config], { env, cwd: home });
  const { body } = await app.get(`${owner.base}/registration-info`, { token: owner.token });
  const by = ["--url", String(body["registrationUrl"] ?? app.url), "--executor", "shell"];
  const key = ["--registration-token", String(body["registrationToken"])];
  await run("register", "--non-interactive", ...by, ...key, "--name", "real", "--run-untagged");
  await run("verify");
  const args = ["run", "--working-directory", home, "--config", config];
  const runner = spawn("gitlab-runner", args, { env, cwd: home, stdio: "ignore" });
  const stop = async (): Promise<void> => {
    if (runner.exitCode === null && runner.kill("SIGTERM")) await once(runner, "exit");
  };
  after(stop);
  return { run, stop };
}
