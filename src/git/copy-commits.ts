import { memoryLimit } from "./environment.ts";
import { copyPack, type PackCopy } from "./pack-copy.ts";
import type { Repository } from "./repository.ts";
import { runGit } from "./run.ts";

/** More heads than this do not make a pack much smaller. */
const knownMax = 500;
const timeoutMs = 10 * 60_000;
/** An index begins with a table of 256 numbers; of large objects it is a small part of the pack. */
const indexBytesMin = 2_048;
const indexShare = 1.02;

/**
 * Copies a commit and what it leads to from one repository into another, without what `known` commits lead to, which
 * the other has. No ref is made.
 *
 * @param reach takes room for so many bytes in all
 * @returns how many bytes the other has more
 * @throws GitFailure when an object is refused; what `reach` throws
 */
export async function copyCommits(
  from: Repository,
  to: Repository,
  { commitId, known }: Readonly<{ commitId: string; known: readonly string[] }>,
  reach: NonNullable<PackCopy["reach"]>,
): Promise<number> {
  const revisions = [commitId, ...known.map((id) => `^${id}`)];
  const checks = ["--strict"];
  return await copyPack(from, to, { revisions, checks, env: memoryLimit, timeoutMs, reach });
}

/** About what a pack of these revisions takes with its index: as much as their objects do where they are. */
export async function packedBytes(
  { gitDir }: Repository,
  revisions: readonly string[],
): Promise<number> {
  const args = ["rev-list", "--objects", "--disk-usage", "--stdin"] as const;
  const input = revisions.map((line) => `${line}\n`).join("");
  const { stdout } = await runGit(gitDir, args, { input });
  return Math.ceil(Number(stdout.toString().trim()) * indexShare) + indexBytesMin;
}

/** Commits that `to` keeps, on its branches or by another ref, and that `from` has as well. */
export async function sharedHeads(
  from: Repository,
  to: Repository,
  another?: string,
): Promise<readonly string[]> {
  const kept = another === undefined ? [] : [another];
  const heads = [...new Set([...kept, ...(await to.refs()).values()])].slice(0, knownMax);
  const infos = await Promise.all(heads.map((id) => from.objects.info(id)));
  return heads.filter((_, index) => infos[index]?.type === "commit");
}
