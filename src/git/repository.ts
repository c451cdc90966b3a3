import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import path from "node:path";
import type { Readable } from "node:stream";
import { BoundedCache } from "../platform/bounded-cache.ts";
import { Limit } from "../platform/limit.ts";
import { Refusal } from "../platform/refusal.ts";
import { administration } from "./administration.ts";
import {
  bytesBelow,
  removeLeftOverLocks,
  removeLeftOverObjects,
  removeLeftOverUpkeep,
} from "./bytes.ts";
import { gitEnvironment } from "./environment.ts";
import { GitFailure } from "./failure.ts";
import { isObjectId, isRefName } from "./name.ts";
import type { CatFilePool } from "./object/cat-file-pool.ts";
import type { TreeEntry } from "./object/object.ts";
import { type ObjectCaches, ObjectReader } from "./object/reader.ts";
import {
  type PackOptions,
  type PackProcess,
  type PackService,
  startPackService,
  startTalkingService,
  startUploadPack,
  type TalkingService,
  type UploadProcess,
} from "./pack-service.ts";
import { headInFile, refsInFiles } from "./ref-files.ts";
import { type RefListing, refListing, refState } from "./ref-listing.ts";
import { runGit } from "./run.ts";

export type FileEntry = Readonly<{ path: string; entry: TreeEntry; bytes: number }>;

/** Full ref name → object id. */
export type Refs = ReadonlyMap<string, string>;

/** More names than this make one long listing cheaper than a long command line. */
const namedRefsMax = 200;
/** So few are looked for in the files of the repository, which takes no process. */
const refsInFilesMax = 16;
const sizesAtOnce = 2_000;
/** In one upkeep: the rest of a long history is done by the next ones. */
const filtersMax = 20_000;
const fsckTextMax = 2_000;
/** More than the largest repositories known need. */
const maintenanceMaxMs = 2 * 60 * 60_000;
/** In one listing: directories that hold each other need no space and never end. */
const directoriesMax = 50_000;

/** Of objects that share seven digits of their id there are a handful in the largest repositories. */
const candidatesMax = 100;

/** A slow reader keeps a process, and up to core.bigFileThreshold of its memory, for as long. */
const streams = new Limit({
  name: "git.streams",
  total: 32,
  share: 8,
  whenFull: "refuse",
  refusal: () =>
    new Refusal("unavailable", "git.busy", "Too many downloads are under way.", {
      retryAfterSeconds: 5,
    }),
});

/** Answers that follow from object ids alone and so stay true. */
const ancestries = new BoundedCache<boolean>(2 * 1024 ** 2);

/** One bare repository. Names and ids given here are checked already; see name.ts. */
export class Repository {
  readonly objects: ObjectReader;

  constructor(
    readonly gitDir: string,
    pool: CatFilePool,
    caches: ObjectCaches,
    /** Where the hook of gated pushes is kept. */
    readonly hooks: string,
    /** For what is not complete, on the same file system; what is old there is removed. */
    readonly temporary: string,
  ) {
    this.objects = new ObjectReader(gitDir, pool, caches);
  }

  /** Branches, tags and notes as they are now: all, or those named. */
  async refs(names?: readonly string[]): Promise<Refs> {
    const named = names !== undefined && names.length <= namedRefsMax;
    const patterns = named ? names.filter(isRefName) : ["refs/heads", "refs/tags", "refs/notes"];
    if (patterns.length === 0) return new Map();
    const few = named && patterns.length <= refsInFilesMax;
    const read = few ? await refsInFiles(this.gitDir, patterns) : undefined;
    if (read !== undefined) return read;
    const listing = await administration(this.gitDir).raw([
      `--git-dir=${this.gitDir}`,
      "for-each-ref",
      "--format=%(objectname) %(refname)",
      "--",
      ...patterns,
    ]);
    const wanted = names === undefined ? undefined : new Set(names);
    const refs = new Map<string, string>();
    for (const line of listing.split("\n")) {
      const space = line.indexOf(" ");
      const ref = line.slice(space + 1);
      if (space > 0 && (wanted?.has(ref) ?? true)) refs.set(ref, line.slice(0, space));
    }
    return refs;
  }

  /**
   * All branches and tags, and what tags lead to; undefined when only git can list them.
   *
   * @param withServiceRefs whether refs of the service's own are listed as well
   */
  refListing(withServiceRefs = false): Promise<RefListing | undefined> {
    return refListing(this.gitDir, this.objects, withServiceRefs);
  }

  /** Text that differs whenever a ref differs; undefined when it cannot be determined at once. */
  refState(): Promise<string | undefined> {
    return refState(this.gitDir);
  }

  /** The branch HEAD points to, whether or not it exists. */
  async head(): Promise<string> {
    const read = await headInFile(this.gitDir);
    if (read !== undefined) return read;
    const git = administration(this.gitDir);
    const ref = await git.raw([`--git-dir=${this.gitDir}`, "symbolic-ref", "HEAD"]);
    return ref.trim().replace(/^refs\/heads\//, "");
  }

  async setHead(branch: string): Promise<void> {
    const ref = `refs/heads/${branch}`;
    if (!isRefName(ref)) throw new Error("Not a branch name");
    const git = administration(this.gitDir);
    await git.raw([`--git-dir=${this.gitDir}`, "symbolic-ref", "HEAD", ref]);
  }

  /**
   * Commits whose ids begin with these digits, two at most.
   *
   * @param digits 4 or more, lower case
   */
  async commitsAbbreviated(digits: string): Promise<readonly string[]> {
    if (!/^[0-9a-f]{4,64}$/.test(digits)) return [];
    const { stdout } = await runGit(this.gitDir, ["rev-parse", `--disambiguate=${digits}`]);
    const commits: string[] = [];
    for (const id of stdout.toString().split("\n").slice(0, candidatesMax)) {
      if ((await this.objects.info(id))?.type === "commit") commits.push(id);
      if (commits.length === 2) break;
    }
    return commits;
  }

  /** Whether an object is there now; what was read of it before may still be kept by this process. */
  async holds(id: string): Promise<boolean> {
    if (!isObjectId(id)) return false;
    const { exitCode } = await runGit(this.gitDir, ["cat-file", "-e", id], {
      okCodes: [0, 1, 128],
    });
    return exitCode === 0;
  }

  /** Whether `descendant` contains `ancestor`; false when either is not here. */
  async isAncestor(ancestor: string, descendant: string): Promise<boolean> {
    if (ancestor === descendant) return true;
    const key = `${ancestor} ${descendant}`;
    const cached = ancestries.get(key);
    if (cached !== undefined) return cached;
    // What most pushes bring is one commit on top of another.
    if ((await this.objects.commit(descendant))?.parentIds.includes(ancestor)) return true;
    const { exitCode } = await runGit(
      this.gitDir,
      ["merge-base", "--is-ancestor", "--end-of-options", ancestor, descendant],
      { okCodes: [0, 1, 128] },
    );
    // 128: an object is missing, which may change.
    if (exitCode !== 128) ancestries.set(key, exitCode === 0, key.length + 50);
    return exitCode === 0;
  }

  /**
   * Which of the branches' heads the target contains: two commands at most, however many there are.
   *
   * @param branches full ref names and the commits they are thought to be at
   */
  async mergedInto(
    target: string,
    branches: readonly Readonly<{ ref: string; id: string }>[],
  ): Promise<ReadonlySet<string>> {
    const keyOf = (head: string): string => `${head} ${target}`;
    const heads = branches.map(({ id }) => id);
    const unknown = branches.filter(
      ({ id }) => id !== target && ancestries.get(keyOf(id)) === undefined,
    );
    for (const merged of unknown.length === 0 ? [] : [true, false]) {
      const { stdout } = await runGit(this.gitDir, [
        "for-each-ref",
        merged ? `--merged=${target}` : `--no-merged=${target}`,
        "--format=%(objectname)",
        "--",
        ...unknown.map(({ ref }) => ref),
      ]);
      for (const head of stdout.toString().split("\n").filter(Boolean)) {
        ancestries.set(keyOf(head), merged, keyOf(head).length + 50);
      }
    }
    // A head that moved between the two listings is checked alone.
    const contained = await Promise.all(heads.map((head) => this.isAncestor(head, target)));
    return new Set(heads.filter((_, index) => contained[index]));
  }

  /**
   * Files below a directory with their sizes, in path order; depth 0 is the directory itself.
   * Directories and submodules are left out, symbolic links are files holding their target.
   *
   * @throws Refusal 422 `directory.too_large` when there are too many directories, or too large ones
   */
  async files(
    directory: TreeEntry,
    prefix: string,
    depth: number,
    countMax: number,
  ): Promise<readonly FileEntry[]> {
    const found: { path: string; entry: TreeEntry }[] = [];
    let readCount = 0;
    const walk = async (id: string, path: string, left: number): Promise<void> => {
      readCount += 1;
      const entries = readCount > directoriesMax ? undefined : await this.objects.tree(id);
      if (entries === undefined) throw directoryTooLarge();
      for (const entry of entries) {
        if (found.length > countMax) return;
        const entryPath = path === "" ? entry.name : `${path}/${entry.name}`;
        if (entry.kind === "directory") {
          if (left > 0) await walk(entry.id, entryPath, left - 1);
        } else if (entry.kind !== "submodule") {
          found.push({ path: entryPath, entry });
        }
      }
    };
    await walk(directory.id, prefix, depth);

    const files: FileEntry[] = [];
    for (let at = 0; at < found.length; at += sizesAtOnce) {
      const some = found.slice(at, at + sizesAtOnce);
      const infos = await Promise.all(some.map(({ entry }) => this.objects.info(entry.id)));
      files.push(...some.map((file, index) => ({ ...file, bytes: infos[index]?.bytes ?? 0 })));
    }
    return files;
  }

  /**
   * A blob as a stream from a process of its own, for what is too large to hold in memory. Closing
   * the stream ends the process.
   *
   * @throws Refusal 503 `git.busy` when too many are under way
   */
  blobStream(id: string): Readable {
    const { leave } = streams.take();
    const child = spawn("git", [`--git-dir=${this.gitDir}`, "cat-file", "blob", id], {
      cwd: "/",
      env: gitEnvironment(),
      stdio: ["ignore", "pipe", "ignore"],
    });
    child.on("error", (error) => child.stdout.destroy(error));
    child.stdout.once("close", () => {
      leave();
      child.kill("SIGKILL");
    });
    return child.stdout;
  }

  /** Every object and link is whole. @throws GitFailure naming what is not. */
  async check(): Promise<void> {
    // It reports missing objects on stdout and broken ones on stderr.
    let printed = "";
    const onStdout = (chunk: Buffer): void => {
      printed = (printed + chunk.toString()).slice(0, fsckTextMax);
    };
    const args = ["fsck", "--full", "--strict", "--no-dangling"] as const;
    try {
      await runGit(this.gitDir, args, { timeoutMs: 30 * 60_000, onStdout });
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      throw new GitFailure("fsck", error.exitCode, `${printed}${error.stderr}`);
    }
  }

  /**
   * Packs what came in piece by piece, so that reading stays fast. Safe while others read and push.
   *
   * @param filtersTimeoutMs for noting which paths commits touched; without it histories of paths are
   * slower to walk. A commit whose tree holds itself many times over would take for ever.
   */
  async maintain(filtersTimeoutMs = 2 * 60_000): Promise<void> {
    await this.removeLeftOvers();
    // On SIGTERM git removes its lock files. Objects that are stored already may need more memory than
    // the limit for pushes allows: they have been accepted.
    const env = { GIT_ALLOC_LIMIT: "0" };
    const ended = {
      timeoutMs: maintenanceMaxMs,
      killSignal: "SIGTERM",
      patient: true,
      env,
      holds: "upkeep",
    } as const;
    const repack = [
      "repack",
      "-d",
      "--geometric=2",
      "--write-midx",
      "--write-bitmap-index",
    ] as const;
    await runGit(this.gitDir, repack, ended);
    await runGit(this.gitDir, ["pack-refs", "--all", "--prune"], { ...ended, holds: "pushing" });
    const graph = ["commit-graph", "write", "--reachable", "--split"] as const;
    const filters = ["--changed-paths", `--max-new-filters=${filtersMax}`];
    const soon = { ...ended, timeoutMs: filtersTimeoutMs };
    await runGit(this.gitDir, [...graph, ...filters], soon).catch(async (error: unknown) => {
      if (!(error instanceof GitFailure)) throw error;
      await runGit(this.gitDir, [...graph, "--no-changed-paths"], ended);
    });
  }

  /** Removes leftovers of killed programs: incomplete objects and locks. Safe while others run. */
  async removeLeftOvers(): Promise<void> {
    await removeLeftOverObjects(this.gitDir);
    await removeLeftOverLocks(this.gitDir);
    await removeLeftOverUpkeep(this.gitDir);
  }

  /** What its files hold together. */
  bytes(): Promise<number> {
    return bytesBelow(this.gitDir);
  }

  /** What its packs hold: about what a clone takes. */
  packedBytes(): Promise<number> {
    return bytesBelow(path.join(this.gitDir, "objects", "pack"));
  }

  start(service: PackService, options: PackOptions): PackProcess {
    return startPackService(this.gitDir, service, { ...options, hooks: this.hooks });
  }

  startUpload(output: Socket | number, protocol: string | undefined): UploadProcess {
    return startUploadPack(this.gitDir, output, protocol);
  }

  startTalking(service: TalkingService, protocol: string | undefined): PackProcess {
    return startTalkingService(this.gitDir, service, protocol);
  }
}

function directoryTooLarge(): Refusal {
  const message = "There are too many directories, or one holds too much: list them in a clone.";
  return new Refusal("unprocessable", "directory.too_large", message);
}
