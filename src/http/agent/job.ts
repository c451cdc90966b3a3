import { z } from "zod";
import { Uuid } from "../../events/core/ids.ts";

import { PipelineStatus } from "../../events/pipeline/status.ts";
import { listAgentJobs } from "../../projections/agent/job.ts";
import type { Deps } from "../core/deps.ts";
import type { PageRequest } from "../core/paging.ts";
import type { RequestFor } from "../core/request.ts";
import { type Route, route } from "../core/route.ts";
import { JobView, presentJobs } from "../pipeline/view.ts";
import { mustFindAgent } from "./agent.ts";
import {
  type AgentOwnerScope,
  agentOwnerScopes,
  type InOwnerScope,
  seenAt,
} from "./owner-scope.ts";

const Filter = z.object({ jobStatus: PipelineStatus.optional() });

type Request = InOwnerScope & RequestFor<"admin">;
type JobFilter = Readonly<{ jobStatus?: PipelineStatus | undefined; agentId?: string }>;

async function listed(deps: Deps, request: Request, page: PageRequest, filter: JobFilter) {
  const { jobStatus: status, ...agent } = filter;
  const which = { owner: seenAt(request), status, ...agent };
  const part = { limit: page.size, offset: page.offset };
  const { rows, total } = await listAgentJobs(deps.db, which, part);
  const items = await presentJobs(deps.db, rows, ({ ref, is_tag, pipeline_local_id: local_id }) => {
    return { ref, is_tag, local_id };
  });
  return { items, totalElements: total };
}

const common = ({ reading, access }: AgentOwnerScope) =>
  ({
    ...reading,
    access,
    method: "get",
    tag: "Agents",
    query: Filter,
    list: "restPipelineJobModelList",
    reply: JobView,
    errors: [403, 404],
  }) as const;

function ofAll(ownerScope: AgentOwnerScope): Route {
  return route({
    ...common(ownerScope),
    path: `${ownerScope.base}/all/jobs`,
    operationId: `list${ownerScope.noun}AgentJobs`,
    summary: "List the jobs of all agents, the newest first",
    params: ownerScope.params,
    handle: ({ query, page, request }, deps) => listed(deps, request as Request, page, query),
  });
}

function ofOne(ownerScope: AgentOwnerScope): Route {
  return route({
    ...common(ownerScope),
    path: `${ownerScope.base}/{runnerUuid}/jobs`,
    operationId: `list${ownerScope.noun}JobsOfAgent`,
    summary: "List the jobs of an agent, the newest first",
    params: ownerScope.params.and(z.object({ runnerUuid: Uuid })),
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
