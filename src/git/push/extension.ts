import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { gitEnvironment } from "../environment.ts";
import { GitFailure } from "../failure.ts";
import { lastText } from "../last-text.ts";
import { yieldProcessor } from "../priority.ts";

export type History = Readonly<{
  /** Commits whose histories count, … */
  tips: ReadonlySet<string>;
  /** … without what these contain; ids of commits that are not here count for nothing. */
  except: ReadonlySet<string>;
  /** Repositories that hold commits of `except` which are not in this one. */
  beside: readonly string[];
}>;

export type Counted = Readonly<{
  commits: number;
  /** File extension → in how many commits a file of that kind was added or changed. */
  extensions: ReadonlyMap<string, number>;
  /** Those of `tips` that brought something new and that no other new commit contains. */
  tips: ReadonlySet<string>;
  /** Those of `except` that a new commit follows on. */
  followed: ReadonlySet<string>;
}>;

/** More kinds than this in one push are no kinds of files any more. */
const extensionsMax = 1_000;
/** Longer names lose their middle: only the ends of a token mean something here. */
const tokenLengthMax = 64 * 1_024;

/**
 * Git puts the files of a commit together in memory before it prints any: so long and so much no commit
 * takes that people made, but directories that hold each other take all there is.
 */
const silenceMsMax = 30_000;
const memoryBytesMax = 1024 ** 3;
const watchMs = 500;

/**
 * Counts the file extensions of new commits, each once a commit, without ever holding the history.
 * A merge counts only for files that differ from all its parents: the rest came with them. Deleted
 * files do not count; a renamed one counts under its new name. When one of the commits has more files than
 * can be read, commits alone are counted.
 *
 * @param silenceMs how long git may read one commit
 * @throws GitFailure; AbortError when the signal aborts
 */
export async function countPushedExtensions(
  gitDir: string,
  history: History,
  signal: AbortSignal,
  silenceMs = silenceMsMax,
): Promise<Counted> {
  try {
    const args = [...logArguments, ...fileArguments];
    return await count(gitDir, history, { args, signal, silenceMs });
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
    return count(gitDir, history, { args: logArguments, signal });
  }
}

class TooMuch extends Error {
  override readonly name = "TooMuch";
}

type CountOptions = Readonly<{ args: readonly string[]; signal: AbortSignal; silenceMs?: number }>;

async function count(
  gitDir: string,
  history: History,
  { args, signal, silenceMs }: CountOptions,
): Promise<Counted> {
  const { tips, except, beside } = history;
  const objects = beside.map((directory) => path.join(directory, "objects")).join(":");
  const child = spawn("git", [`--git-dir=${gitDir}`, ...args], {
    cwd: "/",
    env: gitEnvironment(objects === "" ? {} : { GIT_ALTERNATE_OBJECT_DIRECTORIES: objects }),
    stdio: ["pipe", "pipe", "pipe"],
    killSignal: "SIGKILL",
    signal,
  });
  yieldProcessor(child);
  const closed = once(child, "close") as Promise<[number | null]>;
  // Awaited below; until then it may fail because the signal aborts.
  closed.catch(() => undefined);
  const stderr = lastText(child.stderr);
  // Git may end before it has read everything; its exit code says what is to be said.
  child.stdin.on("error", () => undefined);
  child.stdin.end([...tips, ...[...except].map((id) => `^${id}`), ""].join("\n"));

  const counting = new Counting(history);
  const watch = silenceMs === undefined ? undefined : watchFor(child, silenceMs);
  try {
    for await (const chunk of child.stdout) counting.read((chunk as Buffer).toString("latin1"));
  } finally {
    watch?.end();
  }
  const [exitCode] = await closed;
  if (watch?.tooMuch() === true) throw new TooMuch("A commit has too many files");
  if (exitCode !== 0) throw new GitFailure("log", exitCode, stderr());
  return counting.end();
}

/** Kills the child when it prints nothing for too long, or takes too much memory meanwhile. */
function watchFor(child: ChildProcessByStdio<Writable, Readable, Readable>, silenceMs: number) {
  let lastOutputAt = Date.now();
  let tooMuch = false;
  child.stdout.on("data", () => {
    lastOutputAt = Date.now();
  });
  const timer = setInterval(async () => {
    const silent = Date.now() - lastOutputAt > silenceMs;
    tooMuch ||= silent || (await memoryOf(child)) > memoryBytesMax;
    if (tooMuch) child.kill("SIGKILL");
  }, watchMs);
  return { tooMuch: () => tooMuch, end: () => clearInterval(timer) };
}

/** Of its own, without the packs that it maps; proc(5). 0 where that is unknown. */
async function memoryOf({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

const logArguments = [
  "log",
  // Holds for what is read after it.
  "--ignore-missing",
  "--stdin",
  "--no-show-signature",
  "--no-notes",
  "-z",
  "--format=%x01%H %P",
];

const fileArguments = [
  "--no-renames",
  "--ignore-submodules=all",
  "--diff-merges=dense-combined",
  "--name-status",
];

/**
 * Reads `^A<id> <parents> NUL`, then `<letters> NUL <path> NUL` for each file, the first letters after
 * a newline. A path is only ever read after letters, so it may look like anything.
 */
class Counting {
  readonly #history: History;
  readonly #extensions = new Map<string, number>();
  readonly #fresh = new Set<string>();
  readonly #parents = new Set<string>();
  #commits = 0;
  #ofCommit = new Set<string>();
  #rest = "";
  #letters: string | undefined;

  constructor(history: History) {
    this.#history = history;
  }

  read(text: string): void {
    const tokens = (this.#rest + text).split("\0");
    this.#rest = shortened(tokens.pop() ?? "");
    for (const token of tokens) this.#token(token);
  }

  end(): Counted {
    this.#endCommit();
    return {
      commits: this.#commits,
      extensions: this.#extensions,
      tips: new Set([...this.#fresh].filter((id) => !this.#parents.has(id))),
      followed: new Set([...this.#parents].filter((id) => this.#history.except.has(id))),
    };
  }

  #token(token: string): void {
    if (this.#letters !== undefined) {
      // Gone in comparison with every parent: nothing of the kind was pushed.
      if (!/^D+$/.test(this.#letters)) this.#ofCommit.add(extensionOf(token));
      this.#letters = undefined;
    } else if (token.startsWith("\u0001")) this.#commit(token.slice(1).split(" "));
    else if (token.trim() !== "") this.#letters = token.trim();
  }

  #commit([id = "", ...parents]: readonly string[]): void {
    this.#endCommit();
    this.#commits += 1;
    const { tips, except } = this.#history;
    if (tips.has(id)) this.#fresh.add(id);
    for (const parent of parents) {
      if (tips.has(parent) || except.has(parent)) this.#parents.add(parent);
    }
  }

  #endCommit(): void {
    for (const extension of this.#ofCommit) {
      const count = this.#extensions.get(extension);
      if (count === undefined && this.#extensions.size >= extensionsMax) continue;
      this.#extensions.set(extension, (count ?? 0) + 1);
    }
    this.#ofCommit = new Set();
  }
}

function shortened(token: string): string {
  if (token.length <= tokenLengthMax) return token;
  return token.slice(0, tokenLengthMax / 2) + token.slice(-tokenLengthMax / 2);
}

/** `archive.tar.GZ` → `gz`; a name that only begins with a dot has none. */
function extensionOf(file: string): string {
  const name = file.slice(file.lastIndexOf("/") + 1);
  const extension = /[^.]\.([A-Za-z0-9+#~-]{1,20})$/.exec(name)?.[1] ?? "";
  return extension.toLowerCase();
}
