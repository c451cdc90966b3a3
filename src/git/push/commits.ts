import { isObjectId } from "../name.ts";
import type { Commit } from "../object/object.ts";
import type { Repository } from "../repository.ts";
import { runGit } from "../run.ts";

/**
 * Commits that `after` has and `except` has not, newest first, at most so many.
 *
 * @param except ids of commits whose history does not count; those no longer there are left out
 */
export async function commitsBetween(
  repository: Repository,
  after: string,
  except: readonly string[],
  countMax: number,
): Promise<readonly Commit[]> {
  const isCommit = async (id: string): Promise<boolean> =>
    isObjectId(id) && (await repository.objects.info(id))?.type === "commit";
  if (!(await isCommit(after))) return [];
  const excluded: string[] = [];
  for (const id of except) if (await isCommit(id)) excluded.push(`^${id}`);
  const args = [`--max-count=${countMax}`, "--end-of-options", after, ...excluded, "--"];
  const { stdout } = await runGit(repository.gitDir, ["rev-list", ...args]);
  const commits: Commit[] = [];
  for (const id of stdout.toString().split("\n")) {
    const commit = id === "" ? undefined : await repository.objects.commit(id);
    if (commit !== undefined) commits.push(commit);
  }
  return commits;
}
