import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { gitEnvironment } from "./environment.ts";
import { GitFailure } from "./failure.ts";
import { lfsPointer, pointerBytesMax, pointerBytesMin } from "./lfs-pointer.ts";
import type { Repository } from "./repository.ts";

/** A file whose content is kept by LFS: where some commit has it, and its object's SHA-256. */
export type LfsFile = Readonly<{ path: string; oid: string }>;

const filesAtOnce = 500;

/**
 * Whose histories are looked through. `tips` are ids of commits or tags; what the commits `without` reach is left out.
 * `signal` ends the looking.
 */
export type LfsFilesOf = Readonly<{
  tips: Iterable<string>;
  without?: readonly string[];
  signal?: AbortSignal;
}>;

/**
 * Files in histories that are pointers of LFS, each content once, some at a time.
 *
 * @param of without it, the histories of all refs
 * @throws GitFailure when an object is missing; the reason of the signal
 */
export async function* lfsFiles(
  repository: Repository,
  of?: LfsFilesOf,
): AsyncGenerator<readonly LfsFile[]> {
  // Trees of other commits name the same blobs: git lists each once, by the first path it finds.
  const filter = `--filter=blob:limit=${pointerBytesMax}`;
  const from = of === undefined ? ["--all"] : ["--stdin"];
  const without = (of?.without ?? []).map((id) => `^${id}`);
  const list = ["rev-list", "--objects", filter, ...from];
  const child = spawn("git", [`--git-dir=${repository.gitDir}`, ...list], {
    cwd: "/",
    env: gitEnvironment(),
    stdio: ["pipe", "pipe", "ignore"],
  });
  // The exit code reports a child that has ended already.
  child.stdin.on("error", () => undefined);
  child.stdin.end([...(of?.tips ?? []), ...without].map((id) => `${id}\n`).join(""));
  const exited = once(child, "exit");
  exited.catch(() => undefined);
  const end = (): void => void child.kill("SIGKILL");
  of?.signal?.addEventListener("abort", end);
  try {
    let some: { id: string; path: string }[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      const [id, path] = parted(line);
      if (path === "") continue;
      some.push({ id, path });
      if (some.length < filesAtOnce) continue;
      of?.signal?.throwIfAborted();
      yield await pointersAmong(repository, some);
      some = [];
    }
    of?.signal?.throwIfAborted();
    yield await pointersAmong(repository, some);
    const [code] = (await exited) as [number | null];
    if (code !== 0) throw new GitFailure("rev-list", code, "objects could not be listed");
  } finally {
    of?.signal?.removeEventListener("abort", end);
    end();
  }
}

/** `<id> <path>`; commits and the trees at their roots have no path. */
function parted(line: string): readonly [id: string, path: string] {
  const space = line.indexOf(" ");
  return space < 0 ? [line, ""] : [line.slice(0, space), line.slice(space + 1)];
}

async function pointersAmong(
  { objects }: Repository,
  listed: readonly Readonly<{ id: string; path: string }>[],
): Promise<readonly LfsFile[]> {
  const found = await Promise.all(
    listed.map(async ({ id, path }): Promise<LfsFile | undefined> => {
      const info = await objects.info(id);
      if (info?.type !== "blob") return undefined;
      // What a tag points to itself is listed however large it is.
      if (info.bytes < pointerBytesMin || info.bytes >= pointerBytesMax) return undefined;
      const content = await objects.blob(id);
      const oid = content && lfsPointer(content)?.oid;
      return oid === undefined ? undefined : { path, oid };
    }),
  );
  return found.filter((file) => file !== undefined);
}
