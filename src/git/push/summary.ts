import { listingLimit } from "../environment.ts";
import { GitFailure } from "../failure.ts";
import { isObjectId } from "../name.ts";
import type { Commit } from "../object/object.ts";
import type { Repository } from "../repository.ts";
import { type RunOptions, runGit } from "../run.ts";

/** What a commit did to files, by path; renames count as removed and added. */
export type CommitFiles = Readonly<{
  added: readonly string[];
  modified: readonly string[];
  removed: readonly string[];
}>;

export type PushedCommit = Readonly<{ commit: Commit; files: CommitFiles }>;

/** Commits that `after` has and `except` has not: how many, and the newest of them. */
export type PushSummary = Readonly<{ count: number; commits: readonly PushedCommit[] }>;

type Files = { added: string[]; modified: string[]; removed: string[] };

/**
 * What a change of a branch brought. Merges list what they did to the branch they were made on.
 *
 * @param except ids of commits whose history does not count; those no longer there are left out
 * @param countMax commits listed at most, newest first
 */
export async function summarisePush(
  repository: Repository,
  after: string,
  except: readonly string[],
  countMax: number,
): Promise<PushSummary> {
  const known = await Promise.all(
    except.map(async (id) => ((await isCommit(repository, id)) ? [`^${id}`] : [])),
  );
  if (!(await isCommit(repository, after))) return { count: 0, commits: [] };
  const range = ["--end-of-options", after, ...known.flat(), "--"];
  const [counted, files] = await Promise.all([
    runGit(repository.gitDir, ["rev-list", "--count", ...range]),
    filesOfCommits(repository, range, countMax),
  ]);
  const commits = await Promise.all(
    [...files].map(async ([id, changed]) => {
      const commit = await repository.objects.commit(id);
      return commit === undefined ? [] : [{ commit, files: changed }];
    }),
  );
  return { count: Number(counted.stdout.toString()), commits: commits.flat() };
}

async function isCommit(repository: Repository, id: string): Promise<boolean> {
  return isObjectId(id) && (await repository.objects.info(id))?.type === "commit";
}

/** Commits with their changed files; without files when git cannot list them within its time and memory. */
async function filesOfCommits(
  { gitDir }: Repository,
  range: readonly string[],
  countMax: number,
): Promise<ReadonlyMap<string, CommitFiles>> {
  const list = async (shows: readonly string[], limits: RunOptions = {}) => {
    const args = [`--max-count=${countMax}`, "--no-show-signature", "-z", "--format=%x01%H"];
    const { stdout } = await runGit(gitDir, ["log", ...args, ...shows, ...range], limits);
    return parseNameStatus(stdout.toString());
  };
  try {
    const limits = { env: listingLimit, timeoutMs: listingTimeoutMs };
    return await list(["--no-renames", "--diff-merges=first-parent", "--name-status"], limits);
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    return list(["--no-patch"]);
  }
}

const listingTimeoutMs = 20_000;

/**
 * `^A<id> NUL` begins a commit; then `<letter> NUL <path> NUL` for each file, the first letter after
 * a newline. A path is only ever read after a letter, so it may look like anything.
 */
export function parseNameStatus(text: string): ReadonlyMap<string, CommitFiles> {
  const commits = new Map<string, Files>();
  const tokens = text.split("\0");
  let current: Files = { added: [], modified: [], removed: [] };
  for (let at = 0; at < tokens.length; at += 1) {
    const token = (tokens[at] ?? "").replace(/^\n/, "");
    if (token.startsWith("\u0001")) {
      current = { added: [], modified: [], removed: [] };
      commits.set(token.slice(1), current);
    } else if (token !== "") {
      at += 1;
      const path = tokens[at] ?? "";
      if (token === "A") current.added.push(path);
      else if (token === "D") current.removed.push(path);
      else current.modified.push(path);
    }
  }
  return commits;
}
