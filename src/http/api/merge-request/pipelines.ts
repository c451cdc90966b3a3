import { pipelineNotFound } from "../../../commands/pipeline/pipeline.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findPipelineById, pipelinesOfMergeRequest } from "../../../projections/pipeline/query.ts";
import { findProjectById } from "../../../projections/project/project.ts";
import { projectRole } from "../../../projections/team/member-role.ts";
import { withNewestSource } from "../../../services/merge-request/source.ts";
import { commitsBetween } from "../../../services/merge-request/source-commits.ts";
import {
  type NoMergeRequestPipeline,
  startMergeRequestPipeline,
} from "../../../services/merge-request/start-pipeline.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { nothingStarted } from "../pipeline/pipeline.ts";
import { PipelineView, pipelineView } from "../pipeline/view.ts";
import { rangeOf } from "./changes.ts";
import { at, mustFindMergeRequest, reading, writing } from "./place.ts";
import type { Reading } from "./view.ts";

export const getMergeRequestPipelines: Route = route({
  ...reading,
  method: "get",
  path: `${at}/{localId}/pipelines`,
  operationId: "listMergeRequestPipelines",
  summary: "List the pipelines of a merge request and of the commits that it brings",
  description:
    "Newest first, of the target project and of a source project that the caller may read. The total is counted to 500 beyond the requested page.",
  list: "restPipelineModelList",
  reply: PipelineView,
  async handle({ params, page, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    const { repository, targetHead, sourceCommit } = await rangeOf(deps, request, row);
    const commitIds = await commitsBetween(repository, targetHead, sourceCommit);
    const projectIds = await readable(deps, request, row.source_project_id);
    const mergeRequest = { projectId: row.project_id, localId: row.local_id };
    const wanted = { projectIds, commitIds, mergeRequest };
    return listed(pipelinesOfMergeRequest(deps.db, wanted, page), pipelineView);
  },
});

/** The target project, and the source project unless it is deleted or hidden from the caller. */
async function readable(
  { db }: Pick<Deps, "db">,
  { project, userId }: Reading,
  sourceProjectId: string,
): Promise<readonly string[]> {
  if (sourceProjectId === project.id) return [project.id];
  const source = await findProjectById(db, sourceProjectId);
  const role = source && (await projectRole(db, source, userId));
  return role === undefined ? [project.id] : [project.id, sourceProjectId];
}

export const postMergeRequestPipeline: Route = route({
  ...writing,
  method: "post",
  path: `${at}/{localId}/pipelines`,
  operationId: "startMergeRequestPipeline",
  summary: "Start a pipeline of a merge request",
  description:
    "On what a merge would give, or on the source where that is in conflict; for a fork, in the fork and on the source. For the DEVELOPERs of the project of the source. 422 `merge_request.final` for a request that is not open, `pipeline.no_file` without a pipeline file, `pipeline.empty` when no job is left.",
  reply: PipelineView,
  async handle({ params, request }, deps) {
    const found = await mustFindMergeRequest(deps, request, params.localId);
    const row = await withNewestSource(deps, found);
    const { userId } = request;
    const started = await request.executeProcess(async (metadata) => {
      const result = await startMergeRequestPipeline(deps, row, { userId, metadata });
      if ("none" in result) throw notStarted(result.none);
      return result;
    });
    const pipeline = await findPipelineById(deps.db, started.pipelineId);
    if (pipeline === undefined) throw pipelineNotFound();
    return pipelineView(pipeline);
  },
});

function notStarted(reason: NoMergeRequestPipeline["none"]): Refusal {
  switch (reason) {
    case "not_open":
      return new Refusal("unprocessable", "merge_request.final", "The merge request is not open.");
    case "no_source":
      return new Refusal("not_found", "project.not_found", "The project of the source is gone.");
    case "no_right": {
      const message = "This needs the role DEVELOPER in the project of the source.";
      return new Refusal("forbidden", "auth.role_missing", message, {
        extra: { role: "DEVELOPER" },
      });
    }
    default:
      return nothingStarted(reason);
  }
}
