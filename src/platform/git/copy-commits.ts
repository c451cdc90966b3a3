import { memoryLimit } from "./environment.ts";
import { copyPack, type PackCopy } from "./pack-copy.ts";
import type { Repository } from "./repository.ts";

/** More heads than this do not make a pack much smaller. */
const knownMax = 500;
const timeoutMs = 10 * 60_000;

/**
 * Copies a commit and what it leads to from one repository into another, without what the other has
 * already on its branches. No ref is made.
 *
 * @param reach takes room for so many bytes in all
 * @returns how many bytes the other has more
 * @throws GitFailure when an object is refused; what `reach` throws
 */
export async function copyCommits(
  from: Repository,
  to: Repository,
  commitId: string,
  reach: NonNullable<PackCopy["reach"]>,
): Promise<number> {
  const revisions = [commitId, "--not", ...(await sharedHeads(from, to))];
  const checks = ["--strict"];
  return await copyPack(from, to, { revisions, checks, env: memoryLimit, timeoutMs, reach });
}

/** Commits on branches of one repository that the other has as well. */
export async function sharedHeads(from: Repository, to: Repository): Promise<readonly string[]> {
  const heads = [...new Set((await to.refs()).values())].slice(0, knownMax);
  const infos = await Promise.all(heads.map((id) => from.objects.info(id)));
  return heads.filter((_, index) => infos[index]?.type === "commit");
}
