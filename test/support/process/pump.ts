import { spawn } from "node:child_process";

import { nodeArgs } from "../compiled.ts";
import type { Parser } from "../syntax/parser.ts";

export type PumpJob = Readonly<{ parser: Parser; pieces: readonly string[]; timeMsMax: number }>;
/** Of the job that is at work; or of a text that took too long. */
export type PumpReport = Readonly<{
  job: number;
  slow?: Readonly<{ piece: string; length: number; timeMs: number }>;
}>;

const program = "test/support/process/pump-process.ts";
/** A job that takes longer, even on a busy machine, is not waited for. */
const silenceMsMax = 60_000;
const [permission = "--permission"] = ["--permission", "--experimental-permission"].filter((flag) =>
  process.allowedNodeEnvironmentFlags.has(flag),
);

/** Runs the jobs one after another. @returns what took too long, once for each parser */
export async function pump(jobs: readonly PumpJob[]): Promise<readonly string[]> {
  const faults = new Map<string, string>();
  for (let from = 0; from < jobs.length; ) {
    const last = await run(jobs.slice(from), (job, fault) => {
      const { file, name, method } = (jobs[from + job] as PumpJob).parser;
      const what = `${file}: ${method === undefined ? name : `${name}.${method}`}`;
      if (!faults.has(what)) faults.set(what, `${what} ${fault}`);
    });
    // Whatever it stopped at is not tried again.
    from += last === undefined ? jobs.length : last + 1;
  }
  return [...faults.values()];
}

/** @returns the job that did not end */
async function run(
  jobs: readonly PumpJob[],
  onFault: (job: number, fault: string) => void,
): Promise<number | undefined> {
  const args = [permission, "--allow-fs-read=*", "--disable-warning=ExperimentalWarning"];
  const child = spawn(process.execPath, [...args, ...nodeArgs(program)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = new Promise((resolve) => child.on("exit", resolve));
  let latest = 0;
  let timer = setTimeout(() => undefined, 0);
  child.stdin.end(JSON.stringify(jobs));
  let begun = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    clearTimeout(timer);
    timer = setTimeout(() => child.kill("SIGKILL"), silenceMsMax);
    const lines = `${begun}${chunk}`.split("\n");
    begun = lines.pop() ?? "";
    for (const line of lines) {
      const { job, slow } = JSON.parse(line) as PumpReport;
      latest = job;
      if (slow === undefined) continue;
      const text = `${slow.length} characters of ${JSON.stringify(slow.piece)}`;
      onFault(job, `takes ${Math.round(slow.timeMs)} ms for ${text}`);
    }
  }
  clearTimeout(timer);
  await exited;
  if (latest === jobs.length) return undefined;
  onFault(latest, "does not end, or ends its process");
  return latest;
}
