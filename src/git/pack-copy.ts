import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { syncFile } from "../platform/sync-file.ts";
import { gitEnvironment } from "./environment.ts";
import { GitFailure } from "./failure.ts";
import { lastText } from "./last-text.ts";
import type { Repository } from "./repository.ts";

export type PackCopy = Readonly<{
  /** Lines for `git pack-objects --revs`. */
  revisions: readonly string[];
  /** Options of index-pack. */
  checks?: readonly string[];
  env?: Readonly<Record<string, string>>;
  timeoutMs: number;
  /** Takes room for so many bytes in all; what it throws ends the copy. */
  reach?: (bytes: number) => Promise<void>;
}>;

/**
 * Copies objects from one repository into another. Until all of them are there and have room they are in a directory
 * beside the repositories, which no measurement of the repository counts; a copy that fails leaves nothing.
 *
 * @returns how many bytes the repository has more
 * @throws GitFailure when an object is refused; what `reach` throws
 */
export async function copyPack(from: Repository, to: Repository, copy: PackCopy): Promise<number> {
  const { reach = async () => undefined, revisions, checks = [], timeoutMs } = copy;
  const quarantine = path.join(to.temporary, randomUUID());
  const packs = path.join(quarantine, "pack");
  await mkdir(packs, { recursive: true });
  const env = gitEnvironment(copy.env);
  const into = {
    GIT_OBJECT_DIRECTORY: quarantine,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: path.join(to.gitDir, "objects"),
  };
  const pack = ["pack-objects", "--revs", "--stdout", "--delta-base-offset", "-q"];
  const packing = start(from.gitDir, pack, { env, timeoutMs });
  const index = ["index-pack", "--stdin", ...checks];
  const indexing = start(to.gitDir, index, { env: { ...env, ...into }, timeoutMs });
  indexing.stdout.resume();
  packing.stdin.on("error", () => undefined);
  packing.stdin.end(revisions.map((line) => `${line}\n`).join(""));
  const ended = [endOf(packing, "pack-objects"), endOf(indexing, "index-pack")];
  try {
    await Promise.all([joined(packing.stdout, indexing.stdin, reach), ...ended]);
    const bytes = await bytesIn(packs);
    await reach(bytes);
    await takeOver(packs, path.join(to.gitDir, "objects", "pack"));
    return bytes;
  } finally {
    packing.kill("SIGKILL");
    indexing.kill("SIGKILL");
    await Promise.allSettled(ended);
    await rm(quarantine, { recursive: true, force: true });
  }
}

/**
 * Pipes one program into another. The reader may have all it needs and end before the writer does, which a pipeline
 * takes for a failure: whether they succeeded, their exit codes say.
 *
 * @throws what `reach` throws
 */
export async function joined(
  from: Readable,
  to: Writable,
  reach: (bytes: number) => Promise<void>,
): Promise<void> {
  let refused: unknown;
  let bytes = 0;
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      await reach(bytes).catch((error: unknown) => {
        refused = error;
        throw error;
      });
      yield chunk;
    }
  };
  await pipeline(from, counted, to).catch(() => undefined);
  if (refused !== undefined) throw refused;
}

type Child = ReturnType<typeof start>;
type Running = Readonly<{ env: Readonly<Record<string, string>>; timeoutMs: number }>;

function start(gitDir: string, args: readonly string[], { env, timeoutMs }: Running) {
  return spawn("git", [`--git-dir=${gitDir}`, ...args], {
    cwd: "/",
    env,
    stdio: ["pipe", "pipe", "pipe"],
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
}

async function endOf(child: Child, command: string): Promise<void> {
  const stderr = lastText(child.stderr);
  const [exitCode] = (await once(child as ChildProcess, "close")) as [number | null];
  if (exitCode !== 0) throw new GitFailure(command, exitCode, stderr());
}

async function bytesIn(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(directory)) {
    bytes += (await stat(path.join(directory, name))).size;
  }
  return bytes;
}

/** Git finds a pack by its index, which therefore comes last. */
async function takeOver(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  const names = (await readdir(from)).filter((name) => name.startsWith("pack-"));
  const isIndex = (name: string) => Number(name.endsWith(".idx"));
  for (const name of names.sort((one, other) => isIndex(one) - isIndex(other))) {
    await rename(path.join(from, name), path.join(to, name));
  }
  await syncFile(to);
}
