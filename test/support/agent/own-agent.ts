import { spawnSync } from "node:child_process";
import { realpath } from "node:fs/promises";

import { type AgentConfig, newSystemId } from "../../../src/agent/config.ts";
import { markedProcesses } from "../../../src/agent/processes.ts";
import { registerAgent } from "../../../src/agent/register.ts";
import { runAgent } from "../../../src/agent/run.ts";
import type { TestApp } from "../app/app.ts";
import { eventually } from "../app/eventually.ts";
import { temporaryDirectory } from "../git/git.ts";
import { isInstalled, skipFor } from "../process/program.ts";

/** Containers have the program but not always the right to use it. */
export const hasSandbox = ((): boolean => {
  const args = ["--unshare-user", "--unshare-pid", "--disable-userns", "--ro-bind", "/", "/"];
  return isInstalled("bwrap") && spawnSync("bwrap", [...args, "true"]).status === 0;
})();

/** Skips the tests of the enclosing `describe` where there is none. */
export const needsSandbox = (): boolean =>
  skipFor(hasSandbox ? [] : ["bwrap is missing, or makes no user namespace"]);

export type OwnAgent = Readonly<{
  reports: readonly string[];
  work: string;
  /** Ends it as a second Ctrl-C does. */
  giveBack: () => Promise<void>;
  /** Ends it as Ctrl-C does. */
  stop: () => Promise<void>;
  /** Processes of its jobs. */
  processes: () => Promise<readonly number[]>;
}>;

/** Registers an agent with a project and runs it in this process until the file's tests are over. */
export async function startOwnAgent(
  app: TestApp,
  owner: Readonly<{ base: string; token: string }>,
  over: Partial<AgentConfig & { tags: readonly string[] }> = {},
): Promise<OwnAgent> {
  const shown = await app.get(`${owner.base}/registration-info`, { token: owner.token });
  const executor = over.executor ?? "shell";
  const tags = over.tags ?? [];
  const name = `own ${executor}`;
  const token = await registerAgent({
    ...{ url: app.url, name, executor, tags, locked: true, runUntagged: tags.length === 0 },
    registrationToken: String(shown.body["registrationToken"]),
  });
  const systemId = newSystemId();
  const work = await realpath(await temporaryDirectory());
  const stop = new AbortController();
  const giveBack = new AbortController();
  const reports: string[] = [];
  const running = runAgent({
    config: {
      ...{ url: app.url, token, name, systemId, executor },
      ...{ concurrency: over.concurrency ?? 1, readable: over.readable ?? [] },
      pullPolicies: over.pullPolicies ?? ["always"],
    },
    workDirectory: work,
    hidden: [],
    once: false,
    stop: stop.signal,
    giveBack: giveBack.signal,
    report: (text) => reports.push(text),
    touchMs: 300,
  });
  running.catch((error: unknown) => reports.push(String(error)));
  const end = async () => {
    stop.abort();
    giveBack.abort();
    await running.catch(() => undefined);
  };
  after(end);
  await eventually(() => reports.length > 0);
  return {
    reports,
    work,
    giveBack: end,
    async stop() {
      stop.abort();
      await running;
    },
    processes: () => markedProcesses(systemId),
  };
}
