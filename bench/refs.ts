import { readdir } from "node:fs/promises";
import path from "node:path";
import { runProgram } from "../test/support/app/service.ts";
import { git } from "../test/support/git/git.ts";
import type { BenchService } from "./service.ts";

type Bench = Pick<BenchService, "service" | "authorization">;

/** Where the service keeps a project's repository. */
export async function gitDirOf({ service, authorization }: Bench, name: string): Promise<string> {
  const answer = await fetch(`${service.url}/project/bench/${name}`, {
    headers: { authorization },
  });
  const { id } = (await answer.json()) as { id: string };
  const root = path.join(service.dataDir, "repositories");
  const found = await readdir(root, { recursive: true });
  return path.join(root, found.find((file) => file.endsWith(`${id}.git`)) ?? "");
}

/**
 * Brings all branches and tags of a working copy into a project that has been pushed to, as an operator
 * does who restores a repository: a push of thousands of refs would wait for the disk at each of them.
 */
export async function putRefs(bench: Bench, name: string, copy: string): Promise<void> {
  const gitDir = await gitDirOf(bench, name);
  const all = ["refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*"];
  await git(gitDir, "fetch", "--quiet", copy, ...all);
  await git(gitDir, "pack-refs", "--all");
  const environment = { DATA_DIR: bench.service.dataDir, LOG_LEVEL: "warn" };
  const scan = runProgram(["scan", `bench/${name}`], environment);
  const [code] = await scan.exited;
  if (code !== 0) throw new Error(`scan ended with ${code}: ${scan.output()}`);
}
