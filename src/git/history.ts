import { Limit } from "../platform/limit.ts";
import { Refusal } from "../platform/refusal.ts";
import { Answers } from "./answers.ts";
import { GitFailure } from "./failure.ts";
import type { Commit } from "./object/object.ts";
import type { Repository } from "./repository.ts";
import { runGit } from "./run.ts";

/** Which commits: those a commit's history holds, or of them those that touched a path. */
export type History = Readonly<{ from: string; path?: string | undefined }>;

/** Ids are listed in chunks of this size, so that a page after the first starts no process. */
const chunkIds = 1_000;
const mebibyte = 1024 ** 2;
const timeoutMs = 10_000;

/** What has to look into trees may take long: others do not wait behind it. */
const walksAtOnce = new Limit({
  name: "git.history_walks",
  total: 4,
  whenFull: "wait",
  keepsTurn: true,
});

const cachedChunks = new Answers<readonly string[]>(32 * mebibyte, (ids) => ids.length * 64);
const cachedCounts = new Answers<number>(2 * mebibyte, () => 8);
const cachedBases = new Answers<string | null>(2 * mebibyte, () => 64);

/** Newest first, as `git log`, and how many there are in all. */
export async function listCommits(
  repository: Repository,
  history: History,
  page: Readonly<{ offset: number; size: number }>,
): Promise<Readonly<{ commits: readonly Commit[]; total: number }>> {
  const [total, ids] = await Promise.all([
    countCommits(repository, history),
    // The usual first page needs no count to know that it is there.
    page.offset === 0 ? chunk(repository, history, 0) : [],
  ]);
  const wanted = page.offset === 0 ? ids.slice(0, page.size) : [];
  const last = Math.min(page.offset + page.size, total);
  for (let at = page.offset + wanted.length; at < last; ) {
    const number = Math.floor(at / chunkIds);
    const some = await chunk(repository, history, number);
    const part = some.slice(at - number * chunkIds, last - number * chunkIds);
    if (part.length === 0) break;
    wanted.push(...part);
    at += part.length;
  }
  const commits = await Promise.all(wanted.map((id) => repository.objects.commit(id)));
  return { commits: commits.filter((commit) => commit !== undefined), total };
}

/** The last commit of a history that touched the path, its removal included. */
export async function lastCommit(
  repository: Repository,
  history: History,
): Promise<Commit | undefined> {
  const [id] = await cachedChunks.get(`last ${keyOf(history)}`, () =>
    revList(repository, history, ["--max-count=1"]),
  );
  return id === undefined ? undefined : repository.objects.commit(id);
}

/** The best common ancestor of two commits, as `git merge-base`; null when they share no history. */
export function mergeBase(
  { gitDir }: Repository,
  one: string,
  other: string,
): Promise<string | null> {
  return cachedBases.get(`${one} ${other}`, async () => {
    const args = ["--end-of-options", one, other];
    const { stdout } = await orTooLong(
      runGit(gitDir, ["merge-base", ...args], { okCodes: [0, 1], timeoutMs }),
    );
    return stdout.toString("latin1").trim() || null;
  });
}

function countCommits(repository: Repository, history: History): Promise<number> {
  return cachedCounts.get(keyOf(history), async () => {
    // Bitmaps know what a commit reaches, but nothing of paths.
    const bitmaps = history.path === undefined ? ["--use-bitmap-index"] : [];
    const [count] = await revList(repository, history, ["--count", ...bitmaps]);
    return Number(count);
  });
}

function chunk(repository: Repository, history: History, number: number) {
  const range = [`--skip=${number * chunkIds}`, `--max-count=${chunkIds}`];
  return cachedChunks.get(`${number} ${keyOf(history)}`, () => revList(repository, history, range));
}

async function revList(
  { gitDir }: Repository,
  { from, path }: History,
  options: readonly string[],
): Promise<readonly string[]> {
  const paths = path === undefined ? [] : [path];
  const args = [...options, "--end-of-options", from, "--", ...paths];
  const run = () => orTooLong(runGit(gitDir, ["rev-list", ...args], { timeoutMs }));
  const { stdout } = await (path === undefined ? run() : walksAtOnce.run(run));
  return stdout.toString("latin1").split("\n").filter(Boolean);
}

const keyOf = ({ from, path = "" }: History): string => `${from} ${path}`;

async function orTooLong<Result>(running: Promise<Result>): Promise<Result> {
  try {
    return await running;
  } catch (error) {
    if (!(error instanceof GitFailure && error.exitCode === null)) throw error;
    const message = "The history takes too long to walk. Look at it in a clone.";
    throw new Refusal("unprocessable", "history.too_complex", message);
  }
}
