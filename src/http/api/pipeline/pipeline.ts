import { z } from "zod";
import { pipeline } from "../../../commands/pipeline/pipeline.ts";
import type { Recorded } from "../../../events/core/event.ts";
import { ObjectId } from "../../../events/core/ids.ts";
import { pipelineEvents } from "../../../events/pipeline/pipeline.ts";
import { PipelineStatus } from "../../../events/pipeline/status.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { artifactProjection } from "../../../projections/agent/artifact.ts";
import { pipelineProjection } from "../../../projections/pipeline/pipeline.ts";
import { listJobs, listPipelines } from "../../../projections/pipeline/query.ts";
import { findRef } from "../../../projections/repository/git-ref.ts";
import { cancelPipeline, restartPipeline } from "../../../services/pipeline/lifecycle.ts";
import { mustMayRunOn } from "../../../services/pipeline/ref-right.ts";
import { startPipeline } from "../../../services/pipeline/start.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, nameLengthMax, several } from "../../core/schema.ts";
import {
  base,
  LocalIdParams,
  mustFindPipeline,
  plainOrigin,
  reading,
  tag,
  writing,
} from "./found.ts";
import { JobView, jobViews, PipelineView, pipelineView } from "./view.ts";

const path = `${base}/pipeline` as const;

const Filter = z.object({
  branch: z.string().max(nameLengthMax).optional(),
  tag: z.string().max(nameLengthMax).optional(),
  status: several(PipelineStatus),
});

/** One pipeline is what its own events and those of its jobs say. */
const pipelineNumber = {
  kind: "PIPELINE",
  readModel: pipelineProjection,
  parts: ({ type, data }: Recorded): readonly string[] => {
    if (type !== "PipelineJobsPlanned") return [];
    return pipelineEvents.PipelineJobsPlanned.parse(data).jobs.map(({ jobId }) => jobId);
  },
} as const;

const getPipelines = route({
  ...reading,
  method: "get",
  path,
  operationId: "listPipelines",
  summary: "List the pipelines of a project",
  description:
    "Newest first. With a filter, the total is counted to 500 beyond the requested page.",
  query: Filter,
  list: "restPipelineModelList",
  asOf: { readModels: [pipelineProjection], numbers: ["PIPELINE"] },
  reply: PipelineView,
  handle: ({ page, query, request: { project } }, { db }) =>
    listed(listPipelines(db, project.id, query, page), pipelineView),
});

const getPipeline = route({
  ...reading,
  method: "get",
  path: `${path}/{localId}`,
  operationId: "getPipeline",
  summary: "Get a pipeline",
  params: LocalIdParams,
  asOf: { readModels: [], numbered: pipelineNumber },
  reply: PipelineView,
  handle: async ({ params, request }, deps) =>
    pipelineView(await mustFindPipeline(deps, request, params.localId)),
});

const getPipelineJobs = route({
  ...reading,
  method: "get",
  path: `${path}/{localId}/jobs`,
  operationId: "listPipelineJobs",
  summary: "List the jobs of a pipeline",
  description: "In the order of stages.",
  params: LocalIdParams,
  list: "restPipelineJobModelList",
  asOf: { readModels: [artifactProjection], numbers: ["JOB"], numbered: pipelineNumber },
  reply: JobView,
  async handle({ params, page, request }, deps) {
    const row = await mustFindPipeline(deps, request, params.localId);
    const { rows, total } = await listJobs(deps.db, row.id, page);
    return { items: await jobViews(deps.db, rows, () => row), totalElements: total };
  },
});

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

export const VariableList = z
  .array(
    z.object({
      key: z.string().regex(variableName, "Use letters, digits and underscores.").max(255),
      value: z.string().max(64 * 1024),
    }),
  )
  .max(200)
  .nullish();

export const variableRecord = (list: z.output<typeof VariableList>): Record<string, string> =>
  Object.fromEntries((list ?? []).map(({ key, value }) => [key, value]));

const StartOrder = z
  .object({
    refName: z
      .string()
      .max(nameLengthMax)
      .min(1)
      .nullish()
      .meta({
        description: "Branch or tag; the default branch when left out.",
        examples: ["main"],
      }),
    isTag: bool().nullish().meta({ description: "Required with refName." }),
    variables: VariableList.meta({ description: "For this pipeline only." }),
  })
  .refine(({ refName, isTag }) => !refName || typeof isTag === "boolean", {
    path: ["isTag"],
    error: "It is required with refName.",
  })
  .meta({ id: "PipelineStart" });

const StartedView = PipelineView.extend({ pipeline_uuid: z.uuid() }).meta({
  id: "StartedPipeline",
});

const postPipeline = route({
  ...writing,
  method: "post",
  path: `${path}/start`,
  operationId: "startPipeline",
  summary: "Start a pipeline",
  description:
    "422 `pipeline.no_file` without a pipeline file, `pipeline.empty` when no job is left. 403 `pipeline.ref_protected` on a protected branch or tag which the caller may neither push to, merge into nor create.",
  body: StartOrder,
  reply: StartedView,
  async handle({ body, request }, deps) {
    const { project, userId } = request;
    const refName = body.refName ?? project.default_branch;
    const isTag = body.refName ? body.isTag === true : false;
    const origin = {
      ...plainOrigin,
      ref: refName,
      isTag,
      commitId: await commitOf(deps, request, refName, isTag),
      source: request.actor.via === "session" ? "WEB" : "API",
      userId,
    } as const;
    await mustMayRunOn(deps, project, userId, origin);
    const variables = variableRecord(body.variables);
    const started = await request.executeProcess(async (metadata) =>
      mustHaveStarted(await startPipeline(deps, { project, origin, variables, metadata })),
    );
    const row = await mustFindPipeline(deps, request, started.localId);
    return { pipeline_uuid: row.id, ...pipelineView(row) };
  },
});

/** @throws Refusal 404 */
async function commitOf(
  { db }: Deps,
  { project }: Pick<RequestFor<"project:GUEST">, "project">,
  name: string,
  isTag: boolean,
): Promise<ObjectId> {
  const found = await findRef(db, project.id, isTag ? "tag" : "branch", name);
  if (found?.commit_id) return ObjectId.parse(found.commit_id);
  const kind = isTag ? "tag" : "branch";
  throw new Refusal("not_found", `${kind}.not_found`, `There is no ${kind} ${name}.`);
}

/** @throws Refusal 422 `pipeline.no_file`, `pipeline.empty` */
export function mustHaveStarted<Started extends object>(
  result: Started | Readonly<{ none: "no_file" | "refused" | "no_jobs" }>,
): Started {
  if ("none" in result) throw nothingStarted(result.none);
  return result;
}

export function nothingStarted(reason: "no_file" | "refused" | "no_jobs"): Refusal {
  if (reason === "no_file") {
    const message = "The commit has no pipeline file: add .forge-ci.yaml.";
    return new Refusal("unprocessable", "pipeline.no_file", message);
  }
  const message =
    reason === "refused"
      ? "The workflow rules of the pipeline file let no pipeline start."
      : "The rules of the pipeline file leave no job.";
  return new Refusal("unprocessable", "pipeline.empty", message);
}

function change(
  verb: "restart" | "cancel",
  summary: string,
  description: string,
  work: typeof cancelPipeline,
): Route {
  return route({
    ...writing,
    method: "post",
    path: `${path}/{localId}/${verb}`,
    operationId: `${verb}Pipeline`,
    summary,
    description,
    params: LocalIdParams,
    reply: PipelineView,
    async handle({ params, request }, deps) {
      const row = await mustFindPipeline(deps, request, params.localId);
      await request.executeProcess(async (metadata) => ({
        position: await work(deps, row, { by: request.userId, metadata }),
      }));
      return pipelineView(await mustFindPipeline(deps, request, params.localId));
    },
  });
}

const deletePipeline = route({
  tag,
  scope: "PROJECT_WRITE",
  access: "project:ADMIN",
  method: "delete",
  path: `${path}/{localId}/delete`,
  operationId: "deletePipeline",
  summary: "Delete a pipeline and its jobs",
  description: "One that has not ended is canceled first: 422 `pipeline.running`.",
  params: LocalIdParams,
  reply: "empty",
  async handle({ params, request }, deps) {
    const row = await mustFindPipeline(deps, request, params.localId);
    const command = {
      type: "DeletePipeline",
      pipelineId: row.id,
      projectId: row.project_id,
      by: request.userId,
      status: row.status,
      at: deps.now().toISOString(),
    } as const;
    await request.execute(pipeline, row.id, command);
  },
});

export const pipelineRoutes: readonly Route[] = [
  getPipelines,
  getPipeline,
  getPipelineJobs,
  postPipeline,
  change(
    "restart",
    "Run failed and canceled jobs again",
    "With what depends on them; jobs that succeeded stay.",
    restartPipeline,
  ),
  change(
    "cancel",
    "Cancel a pipeline",
    "422 `pipeline.finished` for one that has ended.",
    cancelPipeline,
  ),
  deletePipeline,
];
