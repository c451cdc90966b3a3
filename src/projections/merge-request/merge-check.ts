import type { Knex } from "knex";

import type { KeptMerges } from "../../git/merge-commits.ts";
import type { MergeOutcome } from "../../git/merge-run.ts";

type MergeCheckRow = Readonly<{
  project_id: string;
  ours: string;
  theirs: string;
  /** Null where they conflict. */
  tree_id: string | null;
  conflicts: readonly string[];
}>;

/** What processes share about how commits of a project merge: what one found out, all read. */
export function mergeChecks(db: Knex, projectId: string): KeptMerges {
  return {
    async find({ ours, theirs }): Promise<MergeOutcome | undefined> {
      const row = await db<MergeCheckRow>("merge_check")
        .where({ project_id: projectId, ours, theirs })
        .first("tree_id", "conflicts");
      if (row === undefined) return undefined;
      const { tree_id: treeId, conflicts } = row;
      return treeId === null ? { conflicts, conflictsCount: conflicts.length } : { treeId };
    },
    async keep({ ours, theirs }, merge) {
      // A row has all of the conflicts: of a merge with more than are listed, none is written.
      if (merge.conflicts !== undefined && merge.conflicts.length < merge.conflictsCount) return;
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

/** Deletes the oldest ones; a deleted result is computed again when it is requested. */
export async function dropMergeChecks(db: Knex, before: Date, countMax: number): Promise<void> {
  const old = db("merge_check")
    .where("checked_at", "<", before)
    .orderBy("checked_at")
    .limit(countMax)
    .select("project_id", "ours", "theirs");
  await db("merge_check").whereIn(["project_id", "ours", "theirs"], old).delete();
}
