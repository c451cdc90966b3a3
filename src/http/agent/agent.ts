import { z } from "zod";
import { type AgentCommand, agent, agentNotFound } from "../../commands/agent/agent.ts";
import { defined } from "../../commands/core/defined.ts";
import type { AgentSettings } from "../../events/agent/agent.ts";
import { type AgentRow, findAgent, listAgents } from "../../projections/agent/agent.ts";
import { forgetContact } from "../../projections/agent/contact.ts";
import type { Deps } from "../core/deps.ts";
import type { RequestFor } from "../core/request.ts";
import { type Route, type RoutePath, route } from "../core/route.ts";
import { bool, int } from "../core/schema.ts";
import { type AgentPlace, type AtPlace, agentPlaces, seenAt } from "./place.ts";
import { AgentView, presentAgents } from "./view.ts";

const tag = "Agents";
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

type Request = AtPlace & RequestFor<"admin">;

function one(place: AgentPlace) {
  return place.params.and(z.object({ runnerUuid: z.uuid() }));
}

function list(place: AgentPlace): Route {
  return route({
    ...place.reading,
    access: place.access,
    method: "get",
    path: place.base,
    operationId: `list${place.noun}Agents`,
    summary: place.noun === "Instance" ? "List all agents" : "List agents, the newest first",
    tag,
    params: place.params,
    list: "restPipelineRunnerModelList",
    reply: AgentView,
    errors: [403, 404],
    async handle({ page, request }, deps) {
      const part = { limit: page.size, offset: page.offset };
      const { rows, total } = await listAgents(deps.db, seenAt(request as Request), part);
      return { items: await presentAgents(deps.db, rows), totalElements: total };
    },
  });
}

function show(place: AgentPlace): Route {
  return route({
    ...place.reading,
    access: place.access,
    method: "get",
    path: pathOf(place),
    operationId: `get${place.noun}Agent`,
    summary: "Get an agent",
    tag,
    params: one(place),
    reply: AgentView,
    errors: [403, 404],
    handle: ({ params, request }, deps) => shown(deps, request as Request, params.runnerUuid),
  });
}

function edit(place: AgentPlace): Route {
  return route({
    ...place.writing,
    access: place.access,
    method: "post",
    path: pathOf(place, "/edit"),
    operationId: `change${place.noun}Agent`,
    summary: "Change an agent",
    description: "What is left out stays as it is.",
    tag,
    params: one(place),
    body: ChangedAgent,
    reply: AgentView,
    errors: [403, 404, 422],
    async handle({ params, body, request }, deps) {
      await change(deps, request as Request, params.runnerUuid, changeOf(body));
      return shown(deps, request as Request, params.runnerUuid);
    },
  });
}

function shutdown(place: AgentPlace): Route {
  return route({
    ...place.writing,
    access: place.access,
    method: "post",
    path: pathOf(place, "/shutdown"),
    operationId: `shutDown${place.noun}Agent`,
    summary: "Give an agent no more jobs",
    description: "A job that runs goes on. `isActive` of `/edit` switches the agent on again.",
    tag,
    params: one(place),
    reply: "empty",
    errors: [403, 404],
    handle: ({ params, request }, deps) =>
      change(deps, request as Request, params.runnerUuid, { active: false }),
  });
}

function remove(place: AgentPlace): Route {
  return route({
    ...place.writing,
    access: place.access,
    method: "delete",
    path: pathOf(place),
    operationId: `delete${place.noun}Agent`,
    summary: "Remove an agent",
    description: "Its token is invalid at once.",
    tag,
    params: one(place),
    reply: "empty",
    errors: [403, 404],
    async handle({ params, request }, deps) {
      const by = (request as Request).userId;
      await send(deps, request as Request, params.runnerUuid, { type: "RemoveAgent", by });
      await forgetContact(deps.db, params.runnerUuid);
    },
  });
}

export const agentRoutes: readonly Route[] = agentPlaces.flatMap((place) => [
  list(place),
  show(place),
  edit(place),
  shutdown(place),
  remove(place),
]);

function pathOf({ base }: AgentPlace, rest = ""): RoutePath {
  return `${base}/{runnerUuid}${rest}`;
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

async function shown({ db }: Deps, request: Request, id: string) {
  const [view] = await presentAgents(db, [await mustFindAgent({ db }, request, id)]);
  if (view === undefined) throw agentNotFound();
  return view;
}

/** @throws Refusal 404, also for an agent of another owner */
export async function mustFindAgent(
  { db }: Pick<Deps, "db">,
  at: AtPlace,
  id: string,
): Promise<AgentRow> {
  const row = await findAgent(db, seenAt(at), id);
  if (row === undefined) throw agentNotFound();
  return row;
}
