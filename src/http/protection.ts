import type { Knex } from "knex";
import { z } from "zod";

import { handle } from "../commands/handle.ts";
import { type ProtectionCommand, protection } from "../commands/protection.ts";
import type { UserId } from "../events/ids.ts";
import { deterministicId } from "../platform/deterministic-id.ts";
import { Refusal } from "../platform/refusal.ts";
import {
  findApplyProgress,
  findProtectionRule,
  listProtectionRules,
  type ProtectionRow,
  type RuleScope,
} from "../projections/protection.ts";
import type { Deps } from "./deps.ts";
import type { Resolved } from "./gate.ts";
import { accessAt, type Place, parentOf, places } from "./parent.ts";
import { type KindOfProtection, kindsOfProtection } from "./protection-kind.ts";
import type { RequestContext } from "./request.ts";
import { type Route, route } from "./route.ts";
import { instant } from "./schema.ts";

const declared = (place: Place) =>
  ({ tag: place.tag, access: accessAt(place, "ADMIN"), params: place.params }) as const;
const pathOf = ({ base }: Place, { segment }: KindOfProtection) => `${base}/${segment}` as const;

function list(place: Place, of: KindOfProtection): Route {
  return route({
    ...declared(place),
    method: "get",
    path: pathOf(place, of),
    operationId: `list${place.noun}${of.noun}s`,
    summary: `List the ${of.text}s of a ${place.resource}`,
    ...(place.resource === "project" && {
      description: "With those that its team and company hand down.",
    }),
    scope: place.read,
    list: of.list,
    reply: of.reply,
    errors: [403, 404],
    async handle({ page, request }, { db }) {
      const { size: limit, offset } = page;
      const { rows, total } = await listProtectionRules(db, scopeOf(request, of), {
        limit,
        offset,
      });
      return { items: rows.map(of.present), totalElements: total };
    },
  });
}

function get(place: Place, of: KindOfProtection): Route {
  return route({
    ...declared(place),
    method: "get",
    path: `${pathOf(place, of)}/{${idName(of)}}`,
    operationId: `get${place.noun}${of.noun}`,
    summary: `Get a ${of.text} of a ${place.resource}`,
    scope: place.read,
    params: withId(place, of),
    reply: of.reply,
    errors: [403, 404],
    handle: async ({ params, request }, { db }) =>
      of.present(await found(db, scopeOf(request, of), String(params[idName(of)]))),
  });
}

function create(place: Place, of: KindOfProtection): Route {
  return route({
    ...declared(place),
    method: "post",
    path: `${pathOf(place, of)}/create`,
    operationId: `create${place.noun}${of.noun}`,
    summary: `Create a ${of.text} of a ${place.resource}`,
    scope: place.write,
    body: of.create,
    reply: of.reply,
    errors: [403, 404, 422],
    async handle({ body: rule, request }, deps) {
      const ruleId = deterministicId(request.commandId, "protection rule");
      const { id: parentId, type: parentType } = parentOf(request);
      const order = { type: "CreateProtectionRule", ruleId, parentId, parentType, rule } as const;
      await write(order, request, deps);
      return of.present(await found(deps.db, scopeOf(request, of), ruleId));
    },
  });
}

function edit(place: Place, of: KindOfProtection): Route {
  return route({
    ...declared(place),
    method: "patch",
    path: `${pathOf(place, of)}/edit`,
    operationId: `edit${place.noun}${of.noun}`,
    summary: `Change a ${of.text} of a ${place.resource}`,
    scope: place.write,
    body: of.edit,
    reply: of.reply,
    errors: [403, 404, 422],
    async handle({ body: { uuid: ruleId, change }, request }, deps) {
      const { kind } = of;
      await write({ type: "EditProtectionRule", ruleId, kind, change }, request, deps);
      return of.present(await found(deps.db, scopeOf(request, of), ruleId));
    },
  });
}

function remove(place: Place, of: KindOfProtection): Route {
  return route({
    ...declared(place),
    method: "delete",
    path: `${pathOf(place, of)}/{${idName(of)}}`,
    operationId: `delete${place.noun}${of.noun}`,
    summary: `Delete a ${of.text} of a ${place.resource}`,
    scope: place.write,
    params: withId(place, of),
    status: 204,
    reply: "empty",
    errors: [403, 404],
    async handle({ params, request }, deps) {
      const ruleId = String(params[idName(of)]);
      await write({ type: "DeleteProtectionRule", ruleId, kind: of.kind }, request, deps);
    },
  });
}

function apply(place: Place, of: KindOfProtection): Route {
  return route({
    ...declared(place),
    method: "post",
    path: `${pathOf(place, of)}/apply-settings-to-projects`,
    operationId: `apply${place.noun}${of.noun}s`,
    summary: `Give every project of a ${place.resource} its ${of.text}s`,
    description: "Answers at once; a worker goes through the projects.",
    scope: place.write,
    status: 204,
    reply: "empty",
    errors: [403, 404],
    async handle({ request }, deps) {
      const { id: parentId, type: parentType } = parentOf(request);
      const applyId = deterministicId(request.commandId, "protection apply");
      const { kind } = of;
      await write({ type: "RequestApply", applyId, parentId, parentType, kind }, request, deps);
    },
  });
}

const ApplyProgressView = z
  .object({
    state: z.enum(["NONE", "RUNNING", "DONE"]),
    projects: z.int().meta({ description: "How many have the rules so far." }),
    requestedAt: instant().nullable(),
    finishedAt: instant().nullable(),
  })
  .meta({ id: "ApplyProgress" });

function progress(place: Place, of: KindOfProtection): Route {
  return route({
    ...declared(place),
    method: "get",
    path: `${pathOf(place, of)}/apply-settings-to-projects`,
    operationId: `get${place.noun}${of.noun}ApplyProgress`,
    summary: `Tell how far giving the ${of.text}s to the projects of a ${place.resource} has come`,
    scope: place.read,
    reply: ApplyProgressView,
    errors: [403, 404],
    async handle({ request }, { db }) {
      const last = await findApplyProgress(db, parentOf(request).id, of.kind);
      if (last === undefined) {
        return { state: "NONE" as const, projects: 0, requestedAt: null, finishedAt: null };
      }
      const { requested_at: requestedAt, finished_at: finishedAt } = last.apply;
      const state = finishedAt === null ? ("RUNNING" as const) : ("DONE" as const);
      return { state, projects: last.projects, requestedAt, finishedAt };
    },
  });
}

/** `{tagProtectionUuid}` and its kind. */
const idName = ({ noun }: KindOfProtection) =>
  `${noun.charAt(0).toLowerCase()}${noun.slice(1)}Uuid`;

const withId = (place: Place, of: KindOfProtection) =>
  place.params.and(z.object({ [idName(of)]: z.uuid() }));

function scopeOf(request: Resolved, { kind }: KindOfProtection): RuleScope {
  if ("project" in request) return { kind, project: request.project };
  return { kind, parentId: parentOf(request).id };
}

/** A rule of another project, team, company or kind is not found. */
async function found(db: Knex, scope: RuleScope, id: string): Promise<ProtectionRow> {
  const row = await findProtectionRule(db, scope, id);
  if (row !== undefined) return row;
  throw new Refusal("not_found", "protection.not_found", "Protection rule not found.");
}

type Unsigned<Command> = Command extends unknown ? Omit<Command, "by" | "at"> : never;
type Asked = Exclude<ProtectionCommand, { type: "FinishApply" | "ApplyRules" }>;

async function write(
  order: Unsigned<Asked>,
  request: RequestContext & Resolved & Readonly<{ userId: UserId }>,
  { store, now }: Deps,
): Promise<void> {
  const { id } = parentOf(request);
  // Each member of the union lost these two fields, and gets them back.
  const command = { ...order, by: request.userId, at: now().toISOString() } as Asked;
  const metadata = await request.metadata();
  await request.visible((await handle(store, protection, { id, command, metadata })).position);
}

/** Rules about tags, environments and branches, at projects, teams and companies. */
export const protectionRoutes: readonly Route[] = places.flatMap((place) =>
  kindsOfProtection.flatMap((of) => [
    list(place, of),
    get(place, of),
    create(place, of),
    edit(place, of),
    remove(place, of),
    ...(place.resource === "project" ? [] : [apply(place, of), progress(place, of)]),
  ]),
);
