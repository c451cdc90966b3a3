import { type Change, statement } from "../core/change.ts";
import { defineTable } from "../core/table.ts";
import type {
  MergeRequestApprovalRow,
  MergeRequestMergeRow,
  StoredMergeRequest,
} from "./merge-request-row.ts";

export const requests = defineTable<StoredMergeRequest>({
  name: "merge_request",
  columns: {
    id: "uuid",
    project_id: "uuid",
    local_id: "integer null",
    created_position: "bigint",
    source_project_id: "uuid",
    source_branch: "text",
    target_branch: "text",
    source_commit: "text",
    title: "text",
    description: "text",
    remove_source_branch: "boolean",
    squash_commit: "boolean",
    work_in_progress: "boolean",
    is_draft: "boolean",
    assigned_user_ids: "uuid[]",
    reviewer_ids: "uuid[]",
    label_ids: "uuid[]",
    status: "text",
    author_id: "uuid",
    created_at: "timestamptz",
    updated_at: "timestamptz",
    approval_rules: "jsonb null",
    auto_merge: "jsonb null",
    brought_bytes: "bigint",
    refs_deleted: "boolean",
    failure: "text null",
    merge_id: "uuid null",
    merge_commit: "text null",
    merged_by_id: "uuid null",
    merged_at: "timestamptz null",
  },
  key: ["id"],
  unique: ["(project_id, local_id)"],
  lateIndexes: [
    "(project_id, status, created_at, id)",
    "(project_id, created_at, id)",
    "(project_id, updated_at, id)",
    "(source_project_id, source_branch, status)",
    "(created_at) where local_id is null",
    "(updated_at) where auto_merge is not null",
    "(author_id) where brought_bytes > 0",
    "(project_id) where brought_bytes > 0",
  ],
});

export const approvals = defineTable<MergeRequestApprovalRow>({
  name: "merge_request_approval",
  columns: {
    merge_request_id: "uuid",
    approver_id: "uuid",
    source_commit: "text",
    approved_at: "timestamptz",
  },
  key: ["merge_request_id", "approver_id"],
});

export const merges = defineTable<MergeRequestMergeRow>({
  name: "merge_request_merge",
  columns: {
    id: "uuid",
    merge_request_id: "uuid",
    target_before: "text",
    source_commit: "text",
    merge_commit: "text",
    remove_source_branch: "boolean",
    begun_by_id: "uuid",
    begun_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(merge_request_id)"],
});

/** Removes what has no project id of its own with the requests of a project. */
export const purgeRequests = (projectId: string): Change =>
  statement(
    `with gone as (delete from merge_request where project_id = ? returning id),
       begun as (delete from merge_request_merge where merge_request_id in (select id from gone))
     delete from merge_request_approval where merge_request_id in (select id from gone)`,
    [projectId],
  );
