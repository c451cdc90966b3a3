import { z } from "zod";
import { type AgentCommand, agent, agentNotFound } from "../../../commands/agent/agent.ts";
import { defined } from "../../../commands/core/defined.ts";
import type { AgentSettings } from "../../../events/agent/agent.ts";
import {
  type AgentRow,
  agentProjection,
  findAgent,
  listAgents,
} from "../../../projections/agent/agent.ts";
import { forgetContact } from "../../../projections/agent/contact.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, int } from "../../core/schema.ts";
import {
  type AgentOwnerScope,
  agentOwnerScopes,
  type InOwnerScope,
  reading,
  seenAt,
  writing,
} from "./owner-scope.ts";
import { AgentView, agentViews } from "./view.ts";

const tagsMax = 50;
const timeoutMaxSeconds = 30 * 24 * 3_600;

export const AgentTag = z.string().trim().min(1).max(255);
export const AgentTags = z.array(AgentTag).max(tagsMax);
export const AgentName = z.string().trim().max(255);
export const AgentDescription = z.string().max(1_000);

const ChangedAgent = z
  .object({
    name: AgentName.min(1).optional(),
    description: AgentDescription.optional(),
    isActive: bool().optional(),
    maxTimeoutInSec: int({ min: 1, max: timeoutMaxSeconds })
      .nullish()
      .meta({ description: "Null: the limit of each job counts." }),
    tags: AgentTags.optional(),
    runUntagged: bool().optional(),
    isLocked: bool().optional(),
    isProtected: bool().optional(),
  })
  .meta({ id: "ChangedAgent" });

type Request = InOwnerScope & RequestFor<"admin">;

/** What agents report of themselves is that of today. The instance has no past of its own. */
const asOfOwner = ({ noun }: AgentOwnerScope) =>
  noun !== "Instance" && { asOf: { readModels: [agentProjection] } };

function list(ownerScope: AgentOwnerScope): Route {
  return route({
    ...reading(ownerScope),
    method: "get",
    path: ownerScope.base,
    operationId: `list${ownerScope.noun}Agents`,
    summary: ownerScope.noun === "Instance" ? "List all agents" : "List agents, the newest first",
    list: "restPipelineRunnerModelList",
    ...asOfOwner(ownerScope),
    reply: AgentView,
    errors: [404],
    async handle({ page, request }, deps) {
      const { rows, total } = await listAgents(deps.db, seenAt(request as Request), page);
      return { items: await agentViews(deps.db, rows), totalElements: total };
    },
  });
}

function show(ownerScope: AgentOwnerScope): Route {
  return route({
    ...reading(ownerScope),
    method: "get",
    path: pathOf(ownerScope),
    operationId: `get${ownerScope.noun}Agent`,
    summary: "Get an agent",
    ...asOfOwner(ownerScope),
    reply: AgentView,
    handle: ({ params, request }, deps) => findView(deps, request as Request, params.runnerUuid),
  });
}

function edit(ownerScope: AgentOwnerScope): Route {
  return route({
    ...writing(ownerScope),
    method: "post",
    path: pathOf(ownerScope, "/edit"),
    operationId: `change${ownerScope.noun}Agent`,
    summary: "Change an agent",
    description: "What is left out stays as it is.",
    body: ChangedAgent,
    reply: AgentView,
    async handle({ params, body, request }, deps) {
      await change(deps, request as Request, params.runnerUuid, changeOf(body));
      return findView(deps, request as Request, params.runnerUuid);
    },
  });
}

function shutdown(ownerScope: AgentOwnerScope): Route {
  return route({
    ...writing(ownerScope),
    method: "post",
    path: pathOf(ownerScope, "/shutdown"),
    operationId: `shutDown${ownerScope.noun}Agent`,
    summary: "Give an agent no more jobs",
    description: "A job that runs goes on. `isActive` of `/edit` switches the agent on again.",
    reply: "empty",
    handle: ({ params, request }, deps) =>
      change(deps, request as Request, params.runnerUuid, { active: false }),
  });
}

function remove(ownerScope: AgentOwnerScope): Route {
  return route({
    ...writing(ownerScope),
    method: "delete",
    path: pathOf(ownerScope),
    operationId: `delete${ownerScope.noun}Agent`,
    summary: "Remove an agent",
    description: "Its token is invalid at once.",
    reply: "empty",
    async handle({ params, request }, deps) {
      const by = (request as Request).userId;
      await send(deps, request as Request, params.runnerUuid, { type: "RemoveAgent", by });
      await forgetContact(deps.db, params.runnerUuid);
    },
  });
}

export const agentRoutes: readonly Route[] = agentOwnerScopes.flatMap((ownerScope) => [
  list(ownerScope),
  show(ownerScope),
  edit(ownerScope),
  shutdown(ownerScope),
  remove(ownerScope),
]);

function pathOf({ base }: AgentOwnerScope, rest = "") {
  return `${base}/{runnerUuid}${rest}` as const;
}

function changeOf(body: z.output<typeof ChangedAgent>): Partial<AgentSettings> {
  const { isActive: active, isLocked: locked, isProtected, ...rest } = body;
  return defined({ ...rest, active, locked, protected: isProtected });
}

async function change(
  deps: Deps,
  request: Request,
  id: string,
  changed: Partial<AgentSettings>,
): Promise<void> {
  const by = request.userId;
  await send(deps, request, id, { type: "ReconfigureAgent", change: changed, by });
}

type Order = AgentCommand extends infer Each
  ? Each extends AgentCommand
    ? Omit<Each, "at">
    : never
  : never;

/** @throws Refusal 404, also for an agent of another owner */
async function send(deps: Deps, request: Request, id: string, order: Order): Promise<void> {
  await mustFindAgent(deps, request, id);
  const command = { ...order, at: deps.now().toISOString() } as AgentCommand;
  await request.execute(agent, id, command);
}

async function findView({ db }: Deps, request: Request, id: string) {
  const [view] = await agentViews(db, [await mustFindAgent({ db }, request, id)]);
  if (view === undefined) throw agentNotFound();
  return view;
}

/** @throws Refusal 404, also for an agent of another owner */
export async function mustFindAgent(
  { db }: Pick<Deps, "db">,
  at: InOwnerScope,
  id: string,
): Promise<AgentRow> {
  const row = await findAgent(db, seenAt(at), id);
  if (row === undefined) throw agentNotFound();
  return row;
}
