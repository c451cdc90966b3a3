import type { Knex } from "knex";

import type { PipelineRow } from "./table.ts";

const open = ["CREATED", "PENDING", "WAITING_FOR_RESOURCE", "RUNNING", "MANUAL"] as const;

/** How many refs a push changed, counted up to a limit. */
export async function refsOfPush(
  db: Knex,
  projectId: string,
  pushId: string,
  countMax: number,
): Promise<number> {
  const rows: readonly unknown[] = await db("git_ref_change")
    .where({ project_id: projectId, push_id: pushId })
    .limit(countMax)
    .select("revision");
  return rows.length;
}

/** Older pipelines of the same branch or merge request that a push started and that go on. */
export async function olderPipelines(
  db: Knex,
  { id, project_id, ref, local_id, source, ...row }: PipelineRow,
): Promise<readonly PipelineRow[]> {
  const { merge_request_project_id, merge_request_number } = row;
  const ofSame =
    source === "MERGE_REQUEST_EVENT" ? { merge_request_project_id, merge_request_number } : { ref };
  return db("pipeline")
    .where({ project_id, is_tag: false, source, ...ofSame })
    .where("local_id", "<", local_id)
    .whereNot({ id })
    .whereNot("auto_cancel", "none")
    .whereIn("status", open)
    .orderBy("local_id")
    .limit(50);
}

/** Whether a push of this commit to the same branch has started a pipeline before this one. */
export async function hasOlderOf(
  db: Knex,
  { project_id, ref, local_id }: PipelineRow,
  commitId: string,
): Promise<boolean> {
  const found = await db("pipeline")
    .where({ project_id, ref, is_tag: false, source: "PUSH", commit_id: commitId })
    .where("local_id", "<", local_id)
    .first("id");
  return found !== undefined;
}

/** Pipelines of the same project that jobs of a pipeline started and that have not ended. */
export async function openChildren(db: Knex, parentId: string): Promise<readonly PipelineRow[]> {
  return db("pipeline as child")
    .join("pipeline as parent", "parent.id", "child.parent_pipeline_id")
    .where({ "child.parent_pipeline_id": parentId })
    .whereRaw("child.project_id = parent.project_id")
    .whereIn("child.status", open)
    .orderBy("child.local_id")
    .select("child.*");
}

/** Whether a job that may not be interrupted has begun. */
export async function hasBegunForGood(db: Knex, pipelineId: string): Promise<boolean> {
  const begun = await db("pipeline_job")
    .where({ pipeline_id: pipelineId, interruptible: false })
    .whereNotNull("started_at")
    .first("id");
  return begun !== undefined;
}
