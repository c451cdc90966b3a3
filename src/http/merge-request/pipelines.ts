import { pipelinesOfCommits } from "../../projections/pipeline/query.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { projectRole } from "../../projections/team/member-role.ts";
import { commitsBetween } from "../../workers/merge-request/source-commits.ts";
import type { Deps } from "../core/deps.ts";
import { type Route, route } from "../core/route.ts";
import { PipelineView, presentPipeline } from "../pipeline/view.ts";
import { rangeOf } from "./changes.ts";
import { at, mustFindMergeRequest, reading } from "./place.ts";
import type { Reading } from "./view.ts";

export const getMergeRequestPipelines: Route = route({
  ...reading,
  method: "get",
  path: `${at}/{localId}/pipelines`,
  operationId: "listMergeRequestPipelines",
  summary: "List the pipelines of the commits that a merge request brings",
  description:
    "Newest first, of the target project and of a source project that the caller may read. The total is counted to 500 beyond the page that is asked for.",
  list: "restPipelineModelList",
  reply: PipelineView,
  async handle({ params, page: { size: limit, offset }, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    const { repository, targetHead, sourceCommit } = await rangeOf(deps, request, row);
    const commitIds = await commitsBetween(repository, targetHead, sourceCommit);
    const projectIds = await readable(deps, request, row.source_project_id);
    const wanted = { projectIds, commitIds };
    const { rows, total } = await pipelinesOfCommits(deps.db, wanted, { limit, offset });
    return { items: rows.map(presentPipeline), totalElements: total };
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
