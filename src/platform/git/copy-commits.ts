import { spawn } from "node:child_process";
import { once } from "node:events";
import { pipeline } from "node:stream/promises";

import { gitEnvironment, memoryLimit } from "./environment.ts";
import { GitFailure } from "./failure.ts";
import type { Repository } from "./repository.ts";

/** More heads than this do not make a pack much smaller. */
const knownMax = 500;
const timeoutMs = 10 * 60_000;

/**
 * Copies a commit and what it leads to from one repository into another, without what the other has
 * already on its branches. No ref is made.
 *
 * @param bytesMax of the pack
 * @throws GitFailure when it is larger, or an object is refused
 */
export async function copyCommits(
  from: Repository,
  to: Repository,
  commitId: string,
  bytesMax: number,
): Promise<void> {
  const heads = [...new Set((await to.refs()).values())].slice(0, knownMax);
  const infos = await Promise.all(heads.map((id) => from.objects.info(id)));
  const known = heads.filter((_, index) => infos[index]?.type === "commit");
  const input = [commitId, "--not", ...known, ""].join("\n");

  const pack = ["pack-objects", "--revs", "--stdout", "--delta-base-offset", "-q"];
  const packing = start(from.gitDir, pack);
  const limit = `--max-input-size=${Math.max(1, bytesMax)}`;
  const indexing = start(to.gitDir, ["index-pack", "--stdin", "--strict", limit]);
  indexing.stdout.resume();
  const ended = [endOf(packing, "pack-objects"), endOf(indexing, "index-pack")];
  packing.stdin.on("error", () => undefined);
  packing.stdin.end(input);
  // A program that ends early breaks the line between the two; its exit code says why.
  const line = pipeline(packing.stdout, indexing.stdin).catch(() => undefined);
  try {
    await Promise.all([line, ...ended]);
  } finally {
    packing.kill("SIGKILL");
    indexing.kill("SIGKILL");
    await Promise.allSettled(ended);
  }
}

function start(gitDir: string, args: readonly string[]) {
  return spawn("git", [`--git-dir=${gitDir}`, ...args], {
    cwd: "/",
    env: gitEnvironment(memoryLimit),
    stdio: ["pipe", "pipe", "pipe"],
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
}

async function endOf(child: ReturnType<typeof start>, command: string): Promise<void> {
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-2000);
  });
  const [exitCode] = (await once(child, "close")) as [number | null];
  if (exitCode !== 0) throw new GitFailure(command, exitCode, stderr);
}
