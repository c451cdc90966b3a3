import type { Knex } from "knex";

import { isFinished, type PipelineStatus } from "../../events/pipeline/status.ts";
import { lastPipeline } from "./query.ts";

/** What pipelines and systems outside say of a commit together. */
export type CommitCheck = "NONE" | "RUNNING" | "PASSED" | "FAILED";

/**
 * Whether a commit has passed: its newest pipeline, and every status that a system outside
 * reported. NONE when there is neither. A merge request asks this of its last commit.
 */
export async function commitCheck(
  db: Knex,
  projectId: string,
  commitId: string,
): Promise<CommitCheck> {
  const [pipeline, reported] = await Promise.all([
    lastPipeline(db, projectId, { commitId }),
    db("commit_status")
      .where({ project_id: projectId, commit_id: commitId })
      .distinct<{ status: PipelineStatus }[]>("status"),
  ]);
  const statuses = [
    ...(pipeline === undefined ? [] : [pipeline.status]),
    ...reported.map((row) => row.status),
  ];
  const checks = new Set(statuses.map(checkOf));
  return (["FAILED", "RUNNING", "PASSED"] as const).find((check) => checks.has(check)) ?? "NONE";
}

/** What the status of one pipeline says. */
export function checkOf(status: PipelineStatus): Exclude<CommitCheck, "NONE"> {
  if (status === "FAILED" || status === "CANCELED") return "FAILED";
  return isFinished(status) ? "PASSED" : "RUNNING";
}
