import type { Knex } from "knex";

import type { KeptMerges } from "../../platform/git/merge-commits.ts";
import type { MergeOutcome } from "../../platform/git/merge-run.ts";

type MergeCheckRow = Readonly<{
  project_id: string;
  ours: string;
  theirs: string;
  /** Null where they conflict. */
  tree_id: string | null;
  conflicts: readonly string[];
}>;

/** Of a merge with more conflicts, or longer paths together, nothing is kept: a row stays small. */
export const conflictsKeptMax = 1_000;
const charactersKeptMax = 64 * 1024;

const isSmall = (conflicts: readonly string[]): boolean =>
  conflicts.length <= conflictsKeptMax &&
  conflicts.reduce((sum, { length }) => sum + length, 0) <= charactersKeptMax;

/** What processes share about how commits of a project merge: what one found out, all read. */
export function mergeChecks(db: Knex, projectId: string): KeptMerges {
  return {
    async find({ ours, theirs }): Promise<MergeOutcome | undefined> {
      const row = await db<MergeCheckRow>("merge_check")
        .where({ project_id: projectId, ours, theirs })
        .first("tree_id", "conflicts");
      if (row === undefined) return undefined;
      return row.tree_id === null ? { conflicts: row.conflicts } : { treeId: row.tree_id };
    },
    async keep({ ours, theirs }, merge) {
      if (!isSmall(merge.conflicts ?? [])) return;
      const outcome =
        merge.conflicts === undefined
          ? { tree_id: merge.treeId, conflicts: [] }
          : { tree_id: null, conflicts: [...merge.conflicts] };
      await db("merge_check")
        .insert({ project_id: projectId, ours, theirs, ...outcome })
        .onConflict(["project_id", "ours", "theirs"])
        .ignore();
    },
  };
}

/** Forgets the oldest ones; what is asked for again is found out again. */
export async function dropMergeChecks(db: Knex, before: Date, countMax: number): Promise<void> {
  const old = db("merge_check")
    .where("checked_at", "<", before)
    .orderBy("checked_at")
    .limit(countMax)
    .select("project_id", "ours", "theirs");
  await db("merge_check").whereIn(["project_id", "ours", "theirs"], old).delete();
}
