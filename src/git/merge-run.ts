import { Limit } from "../platform/limit.ts";
import { MergeOutput } from "./conflict-paths.ts";
import { emptyTreeOf } from "./diff/diff.ts";
import { limitOf, type MergeLimit, mergeFailure, tooComplex } from "./merge-failure.ts";
import { type RunOptions, runGit } from "./run.ts";

export type MergeOutcome =
  | Readonly<{ treeId: string; conflicts?: undefined }>
  /** Paths that could not be brought together, in path order: the first of them, and how many there are. */
  | Readonly<{ conflicts: readonly string[]; conflictsCount: number }>;

/** Ended by a limit. */
export type Refused = Readonly<{ refused: MergeLimit }>;

export type MergeLimits = Readonly<{ timeoutMs: number; memoryBytesMax: number }>;

const exitConflict = 1;
const mebibyte = 1024 ** 2;

/** A merge holds three versions of a file and indexes of their lines in memory. */
const mergesAtOnce = new Limit({ name: "git.merges", total: 2, whenFull: "wait", keepsTurn: true });
export const mergeLimits: MergeLimits = { timeoutMs: 30_000, memoryBytesMax: 2_560 * mebibyte };
const settings = {
  // Pairs that renames are looked for among; beyond it files count as removed and added.
  "merge.renameLimit": "1000",
  // Of the packs, what is in memory at a time: git would map all of them.
  "core.packedGitWindowSize": "32m",
  "core.packedGitLimit": "256m",
} as const;

/** How a merge ended, and how long git took, without the time that it waited for other merges. */
export type MergeRun = Readonly<{ outcome: MergeOutcome | Refused; tookMs: number }>;

/**
 * Runs git-merge-tree(1) on two commits, as every merge here does: few at once, each within limits of time and
 * memory. Renames are followed.
 *
 * @throws Refusal 503 `merge.unavailable`; GitFailure when an object cannot be read
 */
export function runMerge(
  gitDir: string,
  { ours, theirs }: Readonly<{ ours: string; theirs: string }>,
  options: MergeLimits & Pick<RunOptions, "env" | "settings">,
): Promise<MergeRun> {
  const command = [
    "merge-tree",
    ...["--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories"],
    ...["--end-of-options", ours, theirs],
  ] as const;
  return mergesAtOnce.run(async () => {
    const startedAt = performance.now();
    const output = new MergeOutput([ours, theirs]);
    const run = runGit(gitDir, [...command], {
      ...options,
      settings: {
        ...settings,
        ...options.settings,
        // Some versions of git read the attributes of HEAD: the outcome follows from the two commits alone.
        "attr.tree": emptyTreeOf(ours),
      },
      okCodes: [0, exitConflict],
      writes: true,
      onStdout: (chunk) => output.take(chunk),
      // Only the time of a merge limits how many paths are counted.
      bytesMax: Number.POSITIVE_INFINITY,
    });
    const outcome = await run.then(({ exitCode }) => outcomeOf(exitCode, output), refusedOf);
    return { outcome, tookMs: performance.now() - startedAt };
  });
}

function outcomeOf(exitCode: number, output: MergeOutput): MergeOutcome {
  const { treeId = "", conflicts, conflictsCount } = output;
  return exitCode === 0 ? { treeId } : { conflicts, conflictsCount };
}

function refusedOf(error: unknown): Refused {
  const refused = limitOf(error);
  if (refused === undefined) throw mergeFailure(error);
  return { refused };
}

/** @throws Refusal 422 `merge.too_complex` */
export function withinLimits(
  outcome: MergeOutcome | Refused,
  { timeoutMs, memoryBytesMax }: MergeLimits,
): MergeOutcome {
  if (!("refused" in outcome)) return outcome;
  throw tooComplex(
    outcome.refused === "time"
      ? `${timeoutMs / 1_000} seconds`
      : `${Math.floor(memoryBytesMax / mebibyte)} MiB of memory`,
  );
}
