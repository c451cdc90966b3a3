import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Logger } from "pino";

import { isThere } from "../platform/if-there.ts";
import { ProgramOutputs } from "../platform/program-output.ts";
import { syncFile } from "../platform/sync-file.ts";
import { administration } from "./administration.ts";
import { canSyncFileSystem, syncFileSystem } from "./file-system.ts";
import { BranchName } from "./name.ts";
import { CatFilePool } from "./object/cat-file-pool.ts";
import { objectCaches } from "./object/reader.ts";
import { PackCache } from "./pack-cache.ts";
import { Repository } from "./repository.ts";

export type GitRepositories = Readonly<{
  /**
   * The project's repository, made empty if it is not there yet. Any number of processes may do
   * this at once, and stop at any line.
   */
  ensure: (projectId: string, defaultBranch: string) => Promise<Repository>;
  /** The project's repository, or undefined before the first `ensure`. */
  find: (projectId: string) => Promise<Repository | undefined>;
  /** Takes the repository out of use at once; its space is freed afterwards. */
  remove: (projectId: string) => Promise<void>;
  /** Whether `sync` can be relied on where the repositories are. */
  canSync: () => Promise<boolean>;
  /** Everything done to any repository until now survives a power cut afterwards. */
  sync: () => Promise<void>;
  packs: PackCache;
  /** Of upload-pack. */
  outputs: ProgramOutputs;
  close: () => Promise<void>;
}>;

export type GitOptions = Readonly<{
  dataDir: string;
  log: Pick<Logger, "warn">;
  /** Of the packs that are kept for further equal requests; see pack-cache.ts. */
  packCacheBytesMax?: number;
}>;

/** Left-overs younger than this may belong to a process at work. */
const leftOverAfterMs = 60 * 60_000;

/** Repositories as `repositories/ab/cd/<project id>.git` below the data directory. */
export function openGit({ dataDir, log, packCacheBytesMax = 0 }: GitOptions): GitRepositories {
  const root = path.resolve(dataDir, "repositories");
  // On the same file system as the repositories, because a rename must not copy.
  const temporary = path.join(root, "temporary");
  const hooks = path.join(root, "hooks");
  const pool = new CatFilePool();
  const caches = objectCaches();
  const packs = new PackCache({ directory: temporary, bytesMax: packCacheBytesMax });
  const outputs = new ProgramOutputs();
  const known = new Map<string, Repository>();
  removeLeftOvers(temporary).catch((error: unknown) =>
    log.warn({ err: error }, "left-over repositories could not be removed"),
  );

  const repositoryAt = (gitDir: string): Repository => {
    const repository = known.get(gitDir) ?? new Repository(gitDir, pool, caches, hooks, temporary);
    known.set(gitDir, repository);
    return repository;
  };

  const find = async (projectId: string): Promise<Repository | undefined> => {
    const gitDir = directoryOf(root, projectId);
    return known.get(gitDir) ?? ((await isThere(gitDir)) ? repositoryAt(gitDir) : undefined);
  };

  return {
    find,
    packs,
    outputs,

    async ensure(projectId, defaultBranch) {
      const found = await find(projectId);
      if (found !== undefined) return found;
      const gitDir = directoryOf(root, projectId);
      await initialise(gitDir, temporary, BranchName.parse(defaultBranch));
      return repositoryAt(gitDir);
    },

    async remove(projectId) {
      const gitDir = directoryOf(root, projectId);
      pool.forget(gitDir);
      known.delete(gitDir);
      await mkdir(temporary, { recursive: true });
      const grave = path.join(temporary, randomUUID());
      if (await renamed(gitDir, grave)) await rm(grave, { recursive: true, force: true });
    },

    canSync: () => canSyncFileSystem(root),
    sync: () => syncFileSystem(root),

    async close() {
      packs.close();
      pool.close();
      await outputs.close();
    },
  };
}

/** The first digits of a random UUID spread projects evenly over 65,536 directories. */
export function directoryOf(root: string, projectId: string): string {
  const id = projectId.toLowerCase();
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) throw new Error("Not a UUID");
  return path.join(root, id.slice(0, 2), id.slice(2, 4), `${id}.git`);
}

/** Made under another name and moved into place whole: half a repository is never seen. */
async function initialise(gitDir: string, temporary: string, branch: BranchName): Promise<void> {
  const draft = path.join(temporary, randomUUID());
  await mkdir(draft, { recursive: true });
  const git = administration(draft);
  // Newer versions of git may take another format for granted, which clients have to understand, too.
  const format = ["--object-format=sha1", "--template=", `--initial-branch=${branch}`];
  await git.raw(["init", "--quiet", "--bare", ...format, draft]);
  for (const name of ["HEAD", "config", "."]) await syncFile(path.join(draft, name));

  const shard = path.dirname(gitDir);
  await mkdir(shard, { recursive: true });
  if (await renamed(draft, gitDir)) await syncFile(shard);
  else await rm(draft, { recursive: true, force: true });
}

/** False when there is nothing to move, or something is in the place already. */
async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    if (["ENOENT", "ENOTEMPTY", "EEXIST"].includes(code)) return false;
    throw error;
  }
}

async function removeLeftOvers(temporary: string): Promise<void> {
  if (!(await isThere(temporary))) return;
  const before = Date.now() - leftOverAfterMs;
  for (const name of await readdir(temporary)) {
    const file = path.join(temporary, name);
    const { mtimeMs } = await stat(file);
    if (mtimeMs < before) await rm(file, { recursive: true, force: true });
  }
}
