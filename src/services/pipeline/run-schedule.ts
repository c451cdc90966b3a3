import { z } from "zod";

import type { EventMetadata } from "../../events/core/event.ts";
import { ObjectId } from "../../events/core/ids.ts";
import type { ScheduleRow } from "../../projections/pipeline/schedule.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import { startPipeline } from "./start.ts";

/** What a schedule runs on. */
export const refOf = ({ ref, is_tag: isTag }: Pick<ScheduleRow, "ref" | "is_tag">) =>
  ({ ref, isTag, mergeRequest: null }) as const;

type RunDeps = Parameters<typeof startPipeline>[0];

/** @returns undefined when the branch, the tag or the project is gone */
export async function runSchedule(deps: RunDeps, row: ScheduleRow, metadata: EventMetadata) {
  const project = await findProjectById(deps.db, row.project_id);
  const found = await findRef(deps.db, row.project_id, row.is_tag ? "tag" : "branch", row.ref);
  if (project === undefined || !found?.commit_id) return undefined;
  const text = row.variables === null ? null : await deps.vault.open(row.variables);
  const variables = text === null ? {} : z.record(z.string(), z.string()).parse(JSON.parse(text));
  const origin = {
    ...refOf(row),
    commitId: ObjectId.parse(found.commit_id),
    beforeCommitId: null,
    source: "SCHEDULE",
    userId: row.owner_id,
    parent: null,
    startedBy: { kind: "SCHEDULE", id: row.id },
  } as const;
  return startPipeline(deps, { project, origin, variables, metadata });
}
