import { z } from "zod";
import { environment, environmentNotFound } from "../../../commands/pipeline/environment.ts";
import { EnvironmentState } from "../../../events/pipeline/environment.ts";
import { PipelineStatus } from "../../../events/pipeline/status.ts";
import { environmentSlug, tierOf } from "../../../pipeline-file/environment-name.ts";
import { environmentProjection } from "../../../projections/pipeline/environment.ts";
import {
  findEnvironment,
  isEnvironmentInUse,
  lastDeployment,
  lastDeployments,
  listDeployments,
  listEnvironments,
  type NumberedDeployment,
} from "../../../projections/pipeline/environment-query.ts";
import type { EnvironmentRow } from "../../../projections/pipeline/environment-table.ts";
import { environmentProtected, mayDeploy } from "../../../services/pipeline/queue-job.ts";
import { stopEnvironment } from "../../../services/pipeline/stop-environment.ts";
import type { Deps } from "../../core/deps.ts";
import { oneInProject } from "../../core/one-below.ts";
import { listed } from "../../core/paging.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, instant, nameLengthMax, several } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";
import { reading, writing } from "./found.ts";

const path = "/project/{ownerAlias}/{projectAlias}/environment" as const;
const one = `${path}/{environmentId}` as const;

export const DeploymentView = z
  .object({
    number: z.int().meta({ description: "In the environment, from 1." }),
    status: PipelineStatus.meta({ description: "Of the job that deploys." }),
    ref: z.string().meta({ description: "Branch or tag.", examples: ["main"] }),
    isTag: z.boolean(),
    commitId: z.string(),
    userId: z.uuid().nullable().meta({ description: "Who deployed." }),
    url: z.string().nullable(),
    jobLocalId: z.int().nullable().meta({ description: "Null once its pipeline is deleted." }),
    jobName: z.string().nullable(),
    pipelineLocalId: z.int().nullable(),
    createdAt: instant(),
    startedAt: instant().nullable(),
    finishedAt: instant().nullable(),
  })
  .meta({ id: "Deployment" });

export const EnvironmentView = z
  .object({
    id: z.uuid(),
    name: z.string().meta({ examples: ["review/search"] }),
    slug: z.string().meta({ examples: ["review-search-05cum0"] }),
    tier: z.string().meta({
      description: "As the file names it, else what the name of the environment suggests.",
    }),
    state: EnvironmentState,
    url: z.string().nullable(),
    autoStopAt: instant().nullable(),
    createdAt: instant(),
    updatedAt: instant(),
    lastDeployment: DeploymentView.nullable().meta({ description: "The last that succeeded." }),
  })
  .meta({ id: "Environment" });

const presentDeployment = (row: NumberedDeployment): z.input<typeof DeploymentView> =>
  toView(DeploymentView, row, { number: row.number ?? 0 });

const viewOf = (
  row: EnvironmentRow,
  last: NumberedDeployment | undefined,
): z.input<typeof EnvironmentView> =>
  toView(EnvironmentView, row, {
    slug: environmentSlug(row.name),
    tier: row.tier ?? tierOf(row.name),
    lastDeployment: last === undefined ? null : presentDeployment(last),
  });

type Within = Pick<RequestFor<"project:GUEST">, "project">;

/** @throws Refusal 404, also for an environment of another project */
const mustFind = oneInProject(findEnvironment, environmentNotFound);

async function findView(deps: Deps, request: Within, id: string) {
  const row = await mustFind(deps, request, id);
  return viewOf(row, await lastDeployment(deps.db, row));
}

const getEnvironments = route({
  ...reading,
  method: "get",
  path,
  operationId: "listEnvironments",
  summary: "List the environments of a project",
  description:
    "By name, each with its last deployment. The total is counted to 500 beyond the requested page.",
  query: z.object({
    state: several(EnvironmentState),
    q: z.string().max(nameLengthMax).optional().meta({ description: "A part of the name." }),
  }),
  list: "environmentList",
  asOf: { readModels: [environmentProjection] },
  reply: EnvironmentView,
  async handle({ page, query, request }, { db }) {
    const { rows, total } = await listEnvironments(db, request.project.id, query, page);
    const last = await lastDeployments(db, rows);
    return { items: rows.map((row) => viewOf(row, last.get(row.id))), totalElements: total };
  },
});

const getEnvironment = route({
  ...reading,
  method: "get",
  path: one,
  operationId: "getEnvironment",
  summary: "Get an environment",
  asOf: { readModels: [environmentProjection] },
  reply: EnvironmentView,
  handle: ({ params, request }, deps) => findView(deps, request, params.environmentId),
});

const getDeployments = route({
  ...reading,
  method: "get",
  path: `${one}/deployment`,
  operationId: "listDeployments",
  summary: "List the deployments to an environment",
  description: "Newest first. The total is counted to 500 beyond the requested page.",
  query: z.object({ status: several(PipelineStatus) }),
  list: "deploymentList",
  asOf: { readModels: [environmentProjection] },
  reply: DeploymentView,
  async handle({ params, page, query, request }, deps) {
    const { id } = await mustFind(deps, request, params.environmentId);
    return listed(listDeployments(deps.db, id, query, page), presentDeployment);
  },
});

/** @throws Refusal 404; 403 `environment.protected` */
async function mustBeTheirs(
  deps: Deps,
  { project, userId }: RequestFor<"project:DEVELOPER">,
  id: string,
): Promise<EnvironmentRow> {
  const row = await mustFind(deps, { project }, id);
  if (!(await mayDeploy(deps, project, { name: row.name, userId }))) throw environmentProtected();
  return row;
}

const postStop = route({
  ...writing,
  method: "post",
  path: `${one}/stop`,
  operationId: "stopEnvironment",
  summary: "Stop an environment",
  description:
    "Starts the job that its last deployment names as `on_stop`, where that job is to be started by hand and has `action: stop` and the same environment, and the environment is STOPPING until it ends; without one it is STOPPED at once. 422 `environment.stop_job_not_ready` where that job cannot be started yet: `force` stops the environment without it. 403 `environment.protected` for those whom a protection rule does not let deploy there.",
  body: z
    .object({
      force: bool().default(false).meta({ description: "Without running a job." }),
    })
    .default({ force: false })
    .meta({ id: "EnvironmentStop" }),
  reply: EnvironmentView,
  async handle({ params, body, request }, deps) {
    const row = await mustBeTheirs(deps, request, params.environmentId);
    await request.executeProcess(async (metadata) => ({
      position: await stopEnvironment(deps, row, { by: request.userId, metadata }, body),
    }));
    return findView(deps, request, row.id);
  },
});

const deleteEnvironment = route({
  ...writing,
  method: "delete",
  path: one,
  operationId: "deleteEnvironment",
  summary: "Delete an environment and the record of its deployments",
  description:
    "One that is not stopped: 422 `environment.not_stopped`. While a job that is for it is queued or runs: 409 `environment.in_use`.",
  reply: "empty",
  errors: [409],
  async handle({ params, request }, deps) {
    const {
      id,
      project_id: projectId,
      name,
      state,
    } = await mustBeTheirs(deps, request, params.environmentId);
    const fields = { environmentId: id, projectId, name, state, at: deps.now().toISOString() };
    const inUse = await isEnvironmentInUse(deps.db, id);
    const command = { type: "DeleteEnvironment", ...fields, by: request.userId, inUse } as const;
    await request.execute(environment, id, command);
  },
});

export const environmentRoutes: readonly Route[] = [
  getEnvironments,
  getEnvironment,
  getDeployments,
  postStop,
  deleteEnvironment,
];
