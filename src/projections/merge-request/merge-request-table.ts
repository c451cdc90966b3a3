import type { Tx } from "../core/projection.ts";

export async function createMergeRequestTables(tx: Tx): Promise<void> {
  await tx.schema.createTable("merge_request", (table) => {
    table.uuid("id").primary();
    table.uuid("project_id").notNullable();
    table.integer("local_id");
    table.bigInteger("created_position").notNullable();
    table.uuid("source_project_id").notNullable();
    table.text("source_branch").notNullable();
    table.text("target_branch").notNullable();
    table.text("source_commit").notNullable();
    table.text("title").notNullable();
    table.text("description").notNullable();
    table.boolean("remove_source_branch").notNullable();
    table.boolean("squash_commit").notNullable();
    table.boolean("work_in_progress").notNullable();
    table.boolean("is_draft").notNullable();
    table.specificType("assigned_user_ids", "uuid[]").notNullable();
    table.specificType("reviewer_ids", "uuid[]").notNullable();
    table.specificType("label_ids", "uuid[]").notNullable();
    table.text("status").notNullable();
    table.uuid("author_id").notNullable();
    table.timestamp("created_at").notNullable();
    table.timestamp("updated_at").notNullable();
    table.jsonb("approval_rules");
    table.jsonb("auto_merge");
    table.text("failure");
    table.uuid("merge_id");
    table.text("merge_commit");
    table.uuid("merged_by_id");
    table.timestamp("merged_at");
    table.unique(["project_id", "local_id"]);
    table.index(["project_id", "status", "created_at", "id"]);
    table.index(["project_id", "created_at", "id"]);
    table.index(["project_id", "updated_at", "id"]);
    table.index(["source_project_id", "source_branch", "status"]);
  });
  await tx.raw(
    "create index merge_request_unnumbered on merge_request (created_at) where local_id is null",
  );
  await tx.raw(
    "create index merge_request_awaiting on merge_request (updated_at) where auto_merge is not null",
  );
  await tx.schema.createTable("merge_request_approval", (table) => {
    table.uuid("merge_request_id").notNullable();
    table.uuid("approver_id").notNullable();
    table.text("source_commit").notNullable();
    table.timestamp("approved_at").notNullable();
    table.primary(["merge_request_id", "approver_id"]);
  });
  await tx.schema.createTable("merge_request_merge", (table) => {
    table.uuid("id").primary();
    table.uuid("merge_request_id").notNullable().index();
    table.text("target_before").notNullable();
    table.text("source_commit").notNullable();
    table.text("merge_commit").notNullable();
    table.boolean("remove_source_branch").notNullable();
    table.uuid("begun_by_id").notNullable();
    table.timestamp("begun_at").notNullable();
  });
}
