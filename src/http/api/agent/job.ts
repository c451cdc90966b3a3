import { z } from "zod";

import { PipelineStatus } from "../../../events/pipeline/status.ts";
import { listAgentJobs } from "../../../projections/agent/job.ts";
import type { Part } from "../../../projections/list/list-rows.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { several } from "../../core/schema.ts";
import { JobView, jobViews } from "../pipeline/view.ts";
import { mustFindAgent } from "./agent.ts";
import {
  type AgentOwnerScope,
  agentOwnerScopes,
  type InOwnerScope,
  reading,
  seenAt,
} from "./owner-scope.ts";

const Filter = z.object({ jobStatus: several(PipelineStatus) });

type Request = InOwnerScope & RequestFor<"admin">;
type JobFilter = Readonly<{ jobStatus?: readonly PipelineStatus[] | undefined; agentId?: string }>;

async function listed(deps: Deps, request: Request, page: Part, filter: JobFilter) {
  const { jobStatus: statuses, ...agent } = filter;
  const which = { owner: seenAt(request), statuses, ...agent };
  const { rows, total } = await listAgentJobs(deps.db, which, page);
  const items = await jobViews(deps.db, rows, ({ ref, is_tag, pipeline_local_id: local_id }) => {
    return { ref, is_tag, local_id };
  });
  return { items, totalElements: total };
}

const common = (ownerScope: AgentOwnerScope) =>
  ({
    ...reading(ownerScope),
    method: "get",
    query: Filter,
    list: "restPipelineJobModelList",
    reply: JobView,
  }) as const;

function ofAll(ownerScope: AgentOwnerScope): Route {
  return route({
    ...common(ownerScope),
    path: `${ownerScope.base}/all/jobs`,
    operationId: `list${ownerScope.noun}AgentJobs`,
    summary: "List the jobs of all agents, the newest first",
    errors: [404],
    handle: ({ query, page, request }, deps) => listed(deps, request as Request, page, query),
  });
}

function ofOne(ownerScope: AgentOwnerScope): Route {
  return route({
    ...common(ownerScope),
    path: `${ownerScope.base}/{runnerUuid}/jobs`,
    operationId: `list${ownerScope.noun}JobsOfAgent`,
    summary: "List the jobs of an agent, the newest first",
    async handle({ params, query, page, request }, deps) {
      const { id: agentId } = await mustFindAgent(deps, request as Request, params.runnerUuid);
      return listed(deps, request as Request, page, { ...query, agentId });
    },
  });
}

export const agentJobRoutes: readonly Route[] = agentOwnerScopes.flatMap((ownerScope) => [
  ofAll(ownerScope),
  ofOne(ownerScope),
]);
