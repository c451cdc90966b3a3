import type { Knex } from "knex";

import { findProjectById } from "../../projections/project/project.ts";
import type { WorkerDeps } from "./deps.ts";

type Of<Key extends string> = (
  payload: Readonly<Record<Key, string>>,
  deps: Pick<WorkerDeps, "db">,
) => Promise<string | undefined>;

/** On whose behalf work on a project is done: the person it belongs to in the end. */
export const ownerOfProject: Of<"projectId"> = async ({ projectId }, { db }) =>
  (await findProjectById(db, projectId))?.owner_user_id ?? projectId;

/** Of the target of a merge request, where it is judged and merged. */
export const ownerOfMergeRequest: Of<"mergeRequestId"> = ({ mergeRequestId }, { db }) =>
  ownerAt(db, "merge_request", mergeRequestId);

/** Who opened it, where its number is kept: many may open requests into a project of another. */
export const authorOfMergeRequest: Of<"mergeRequestId"> = async ({ mergeRequestId }, { db }) => {
  const row: Readonly<{ author_id: string }> | undefined = await db("merge_request")
    .where({ id: mergeRequestId })
    .first("author_id");
  return row?.author_id;
};

export const ownerOfPipeline: Of<"pipelineId"> = ({ pipelineId }, { db }) =>
  ownerAt(db, "pipeline", pipelineId);

export const ownerOfWebhook: Of<"webhookId"> = ({ webhookId }, { db }) =>
  ownerAt(db, "webhook", webhookId);

async function ownerAt(
  db: Knex,
  table: "merge_request" | "pipeline" | "webhook",
  id: string,
): Promise<string | undefined> {
  const row: Readonly<{ project_id: string }> | undefined = await db(table)
    .where({ id })
    .first("project_id");
  return row && ownerOfProject({ projectId: row.project_id }, { db });
}
