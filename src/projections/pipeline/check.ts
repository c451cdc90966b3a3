import type { Knex } from "knex";

import { isFinished, type PipelineStatus } from "../../events/pipeline/status.ts";
import { lastPipeline } from "./query.ts";

/** What pipelines and systems outside say of a commit together. */
export type CommitCheck = "NONE" | "RUNNING" | "PASSED" | "FAILED";

/** Those of the users whose word counts that a commit has passed. */
export type Believed = (userIds: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * Whether a commit has passed: its newest pipeline, and every status that a system outside
 * reported. NONE when there is neither. A merge request requires this of its last commit.
 *
 * @param believed where given, a reported success of anybody else is passed over; anything else that is reported counts
 */
export async function commitCheck(
  db: Knex,
  projectId: string,
  commitId: string,
  believed?: Believed,
): Promise<CommitCheck> {
  const [pipeline, reported] = await Promise.all([
    lastPipeline(db, projectId, { commitId }),
    db("commit_status")
      .where({ project_id: projectId, commit_id: commitId })
      .distinct<Reported[]>("status", "reported_by_id"),
  ]);
  const statuses = [
    ...(pipeline === undefined ? [] : [pipeline.status]),
    ...(await counting(reported, believed)).map((row) => row.status),
  ];
  const checks = new Set(statuses.map(checkOf));
  return (["FAILED", "RUNNING", "PASSED"] as const).find((check) => checks.has(check)) ?? "NONE";
}

type Reported = Readonly<{ status: PipelineStatus; reported_by_id: string }>;

async function counting(
  reported: readonly Reported[],
  believed: Believed | undefined,
): Promise<readonly Reported[]> {
  const passed = reported.filter(({ status }) => checkOf(status) === "PASSED");
  if (believed === undefined || passed.length === 0) return reported;
  const userIds = await believed([...new Set(passed.map((row) => row.reported_by_id))]);
  return reported.filter((row) => !passed.includes(row) || userIds.has(row.reported_by_id));
}

/** What the status of one pipeline says. */
export function checkOf(status: PipelineStatus): Exclude<CommitCheck, "NONE"> {
  if (status === "FAILED" || status === "CANCELED") return "FAILED";
  return isFinished(status) ? "PASSED" : "RUNNING";
}
