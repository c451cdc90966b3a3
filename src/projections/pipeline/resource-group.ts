import type { Knex } from "knex";

import type { JobRow } from "./table.ts";

type Grouped = Pick<JobRow, "id" | "project_id" | "resource_group">;

/** Whether another job of the group is queued or runs. */
export async function groupIsBusy(
  db: Knex,
  { id, project_id, resource_group }: Grouped,
): Promise<boolean> {
  const busy = await db("pipeline_job")
    .where({ project_id, resource_group })
    .whereNot({ id })
    .whereIn("status", ["PENDING", "RUNNING", "WAITING_FOR_RESOURCE"])
    .whereRaw("block_reason is distinct from 'RESOURCE_GROUP'")
    .first("id");
  return busy !== undefined;
}

/** The job of the group that has waited for it longest. */
export async function nextInGroup(
  db: Knex,
  project_id: string,
  resource_group: string,
): Promise<JobRow | undefined> {
  return db("pipeline_job")
    .where({ project_id, resource_group, status: "WAITING_FOR_RESOURCE" })
    .where({ block_reason: "RESOURCE_GROUP" })
    .orderBy([{ column: "created_at" }, { column: "place" }, { column: "id" }])
    .first("*");
}
