import type { Knex } from "knex";

import type { UserId } from "../../events/core/ids.ts";
import { commitStatusEvents } from "../../events/pipeline/commit-status.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { put } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { type Part, partOf, type Slice } from "../list/list-rows.ts";

const statuses = defineTable({
  name: "commit_status",
  columns: {
    project_id: "uuid",
    commit_id: "text",
    name: "text",
    status: column<PipelineStatus>("text"),
    ref: "text null",
    target_url: "text null",
    description: "text null",
    reported_by_id: column<UserId>("uuid"),
    created_at: "timestamptz",
    updated_at: "timestamptz",
  },
  key: ["project_id", "commit_id", "name"],
  writtenOnce: ["created_at"],
});

export type CommitStatusRow = RowOf<typeof statuses>;

export const commitStatusProjection = defineReadModel({
  name: "commit_status",
  version: 2,
  tables: [statuses],
  events: { ...commitStatusEvents, ...purgeEvents },
  effects: {
    CommitStatusReported: ({ data }) => {
      const at = new Date(data.reportedAt);
      return put(statuses, {
        project_id: data.projectId,
        commit_id: data.commitId,
        name: data.name,
        status: data.status,
        ref: data.ref,
        target_url: data.targetUrl,
        description: data.description,
        reported_by_id: data.reportedById,
        created_at: at,
        updated_at: at,
      });
    },
    ProjectPurged: purgedFrom(statuses),
  },
});

/** By name. */
export function listCommitStatuses(
  db: Knex,
  project_id: string,
  commit_id: string,
  part: Part,
): Promise<Slice<CommitStatusRow>> {
  const own = () => db("commit_status").where({ project_id, commit_id });
  return partOf(own, (rows) => rows.orderBy("name"), part);
}

export async function findCommitStatus(
  db: Knex,
  project_id: string,
  commit_id: string,
  name: string,
): Promise<CommitStatusRow | undefined> {
  return db("commit_status").where({ project_id, commit_id, name }).first();
}
