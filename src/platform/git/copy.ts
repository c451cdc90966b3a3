import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { gitEnvironment } from "./environment.ts";
import { GitFailure } from "./failure.ts";
import type { Refs, Repository } from "./repository.ts";

/** The largest known repositories are copied in minutes; see git-pack-objects(1). */
const timeoutMs = 60 * 60_000;

/**
 * Copies everything that the refs reach from one repository into another, then makes the refs there,
 * all or none. Nothing is shared afterwards: either repository may go. One that has any of the refs
 * already is left as it is.
 *
 * @returns whether this call made the refs
 * @throws GitFailure when the objects could not be copied
 */
export async function copyRepository(
  from: Repository,
  to: Repository,
  refs: Refs,
): Promise<boolean> {
  if (refs.size === 0) return true;
  const pack = ["pack-objects", "--revs", "--stdout", "--delta-base-offset", "-q"];
  const packing = startGit(from.gitDir, pack);
  const indexing = startGit(to.gitDir, ["index-pack", "--stdin"]);
  indexing.stdout.resume();
  const ended = [endOf(packing, "pack-objects"), endOf(indexing, "index-pack")];
  try {
    await Promise.all([
      pipeline(packing.stdout, indexing.stdin),
      feed(packing.stdin, [...new Set(refs.values())]),
      ...ended,
    ]);
  } finally {
    packing.kill();
    indexing.kill();
    await Promise.allSettled(ended);
  }

  const updating = startGit(to.gitDir, ["update-ref", "--stdin"]);
  updating.stdout.resume();
  const updated = endOf(updating, "update-ref");
  const commands = [...refs].map(([ref, id]) => `create ${ref} ${id}`);
  await feed(updating.stdin, commands).catch(() => undefined);
  return await updated.then(
    () => true,
    () => false,
  );
}

type Child = ReturnType<typeof startGit>;

function startGit(gitDir: string, args: readonly string[]) {
  return spawn("git", [`--git-dir=${gitDir}`, ...args], {
    cwd: "/",
    env: gitEnvironment(),
    stdio: ["pipe", "pipe", "pipe"],
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
}

async function feed(stdin: Writable, lines: readonly string[]): Promise<void> {
  stdin.end(lines.map((line) => `${line}\n`).join(""));
  await once(stdin, "finish");
}

async function endOf(child: Child, command: string): Promise<void> {
  const stderr = textOf(child.stderr);
  const [exitCode] = (await once(child, "close")) as [number | null];
  if (exitCode !== 0) throw new GitFailure(command, exitCode, stderr());
}

/** @returns a function that gives the end of what the stream has printed so far */
function textOf(stream: Readable): () => string {
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-2000);
  });
  return () => text;
}
