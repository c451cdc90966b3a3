import { Answers } from "../../git/answers.ts";
import type { Repository } from "../../git/repository.ts";
import { runGit } from "../../git/run.ts";

/** More commits than this are read in a clone. */
const commitsMax = 10_000;

const kept = new Answers<readonly string[]>(16 * 1024 ** 2, (ids) => ids.length * 64);

/** Ids of the commits that a source has and its target has not, newest first; the first 10,000. */
export function commitsBetween(
  { gitDir }: Repository,
  targetHead: string,
  sourceCommit: string,
): Promise<readonly string[]> {
  return kept.get(`${targetHead} ${sourceCommit}`, async () => {
    const range = ["--end-of-options", sourceCommit, `^${targetHead}`, "--"];
    const { stdout } = await runGit(gitDir, ["rev-list", `--max-count=${commitsMax}`, ...range]);
    return stdout.toString("latin1").split("\n").filter(Boolean);
  });
}
