import { z } from "zod";

import type { UserId } from "../../../events/core/ids.ts";
import { projectSubject } from "../../../events/project/project.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { PipelineRow } from "../../../projections/pipeline/table.ts";
import { cancelJob, playJob, restartJob } from "../../../services/pipeline/lifecycle.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import {
  base,
  type FoundJob,
  jobsAsOf,
  LocalIdParams,
  mustFindJob,
  reading,
  writing,
} from "./found.ts";
import { VariableList, variableRecord } from "./pipeline.ts";
import { JobView, jobView } from "./view.ts";

const path = `${base}/job/{localId}` as const;

type Writing = RequestFor<"project:DEVELOPER">;

async function findView(deps: Deps, request: Pick<Writing, "project">, localId: number) {
  const { job, pipeline } = await mustFindJob(deps, request, localId);
  return jobView(deps.db, job, pipeline);
}

const getJob = route({
  ...reading,
  method: "get",
  path,
  operationId: "getJob",
  summary: "Get a job",
  params: LocalIdParams,
  asOf: jobsAsOf,
  reply: JobView,
  handle: ({ params, request }, deps) => findView(deps, request, params.localId),
});

type Work = (
  deps: Deps,
  found: FoundJob,
  initiator: Readonly<{
    by: Writing["userId"];
    metadata: Awaited<ReturnType<Writing["metadata"]>>;
  }>,
) => Promise<bigint | undefined>;

function change(
  verb: "restart" | "cancel",
  summary: string,
  description: string,
  work: Work,
): Route {
  return route({
    ...writing,
    method: "post",
    path: `${path}/${verb}`,
    operationId: `${verb}Job`,
    summary,
    description,
    params: LocalIdParams,
    reply: JobView,
    async handle({ params, request }, deps) {
      const found = await mustFindJob(deps, request, params.localId);
      await request.executeProcess(async (metadata) => ({
        position: await work(deps, found, { by: request.userId, metadata }),
      }));
      return findView(deps, request, params.localId);
    },
  });
}

/**
 * Variables of a play decide what the scripts do with those that were given at the start, `BASH_ENV` for one.
 *
 * @throws Refusal 403 `job.variables_of_others`
 */
function mustHoldNoSecretsOfOthers(
  { variables, user_id }: Pick<PipelineRow, "variables" | "user_id">,
  userId: UserId,
): void {
  if (variables === null || user_id === userId) return;
  const message =
    "Another person gave the pipeline variables. Play the job without variables, or start a pipeline of your own.";
  throw new Refusal("forbidden", "job.variables_of_others", message);
}

const PlayOrder = z
  .object({ variables: VariableList.meta({ description: "For this run only." }) })
  .default({})
  .meta({ id: "JobPlay" });

const postPlay = route({
  ...writing,
  method: "post",
  path: `${path}/play`,
  operationId: "playJob",
  summary: "Start a manual or delayed job",
  description:
    "422 `job.not_playable` for a job that does not wait for it, 403 `environment.protected` for one that deploys where the caller may not, " +
    "403 `job.variables_of_others` for variables where another person gave the pipeline variables.",
  params: LocalIdParams,
  body: PlayOrder,
  reply: JobView,
  async handle({ params, body, request }, deps) {
    const { job, pipeline } = await mustFindJob(deps, request, params.localId);
    const values = variableRecord(body.variables);
    if (Object.keys(values).length > 0) mustHoldNoSecretsOfOthers(pipeline, request.userId);
    const variables =
      Object.keys(values).length === 0
        ? null
        : await deps.vault.seal(projectSubject(request.project.id), JSON.stringify(values));
    await request.executeProcess(async (metadata) => {
      const initiator = { by: request.userId, metadata };
      return { position: await playJob(deps, pipeline, job, variables, initiator) };
    });
    return findView(deps, request, params.localId);
  },
});

export const jobRoutes: readonly Route[] = [
  getJob,
  change(
    "restart",
    "Run a job again",
    "422 `job.not_finished` for one that has not ended, 403 `environment.protected` for one that deploys where the caller may not.",
    (deps, { job, pipeline }, initiator) => restartJob(deps, pipeline, job, initiator),
  ),
  change(
    "cancel",
    "Cancel a job",
    "422 `job.finished` for one that has ended.",
    (deps, { job }, initiator) => cancelJob(deps, job, initiator),
  ),
  postPlay,
];
