import { GitFailure } from "./failure.ts";
import type { Repository } from "./repository.ts";
import { runGit } from "./run.ts";

/** Of both sides together: git reads what each of them changes. */
const commitsMax = 5_000;
const timeoutMs = 10_000;

type Sides = Readonly<{
  upstream: string;
  head: string;
  /** Where upstream stood before: where all of it is too much, what came since is compared alone. */
  before: string;
}>;

/**
 * Whether each commit that `head` has and `upstream` has not makes a change that a commit of `upstream` makes as well,
 * merges left out; git-cherry(1). False where there is no such commit.
 *
 * @returns undefined when there is too much to compare
 */
export async function hasSameChanges(
  repository: Pick<Repository, "gitDir">,
  { upstream, head, before }: Sides,
): Promise<boolean | undefined> {
  try {
    const all = [`${upstream}...${head}`];
    if (await isComparable(repository, all)) return await isCherry(repository, [upstream, head]);
    if (!(await isComparable(repository, [...all, `^${before}`]))) return undefined;
    return await isCherry(repository, [upstream, head, before]);
  } catch (error) {
    if (error instanceof GitFailure && error.timedOut) return undefined;
    throw error;
  }
}

async function isComparable(
  { gitDir }: Pick<Repository, "gitDir">,
  revisions: readonly string[],
): Promise<boolean> {
  const { stdout } = await runGit(
    gitDir,
    [
      "rev-list",
      ...["--count", `--max-count=${commitsMax + 1}`],
      ...["--end-of-options", ...revisions, "--"],
    ],
    { timeoutMs, patient: true },
  );
  return Number(stdout.toString("latin1")) <= commitsMax;
}

async function isCherry(
  { gitDir }: Pick<Repository, "gitDir">,
  revisions: readonly string[],
): Promise<boolean> {
  const args = ["cherry", "--end-of-options", ...revisions] as const;
  const { stdout } = await runGit(gitDir, [...args], { timeoutMs, patient: true });
  const lines = stdout.toString("latin1").split("\n").filter(Boolean);
  return lines.length > 0 && lines.every((line) => line.startsWith("-"));
}
