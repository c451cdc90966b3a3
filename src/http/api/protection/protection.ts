import type { Knex } from "knex";
import { z } from "zod";
import { handle } from "../../../commands/core/handle.ts";
import { stepOf } from "../../../commands/core/step.ts";
import { type ProtectionCommand, protection } from "../../../commands/protection/protection.ts";
import { type UserId, Uuid } from "../../../events/core/ids.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { templateSettingProjection } from "../../../projections/instance/template-setting.ts";
import {
  findLastApply,
  findProtectionRule,
  findUnrecordedRules,
  listProtectionRules,
  type ProtectionRow,
  protectionProjection,
  type RuleScope,
} from "../../../projections/protection/protection.ts";
import type { Resolved } from "../../access/gate.ts";
import {
  type OwnerScope,
  ownerScopes,
  parentOf,
  readingAt,
  writingAt,
} from "../../access/owner-scope.ts";
import { stamped, stampOf, type Unstamped } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { instant } from "../../core/schema.ts";
import { type KindOfProtection, kindsOfProtection } from "./kind.ts";

const pathOf = ({ base }: OwnerScope, { segment }: KindOfProtection) =>
  `${base}/${segment}` as const;

/** Rules, and whether those from above count. */
const rulesThen = {
  readModels: [protectionProjection, templateSettingProjection],
  above: true,
} as const;

function list(ownerScope: OwnerScope, of: KindOfProtection): Route {
  return route({
    ...readingAt(ownerScope, "ADMIN"),
    method: "get",
    path: pathOf(ownerScope, of),
    operationId: `list${ownerScope.noun}${of.noun}s`,
    summary: `List the ${of.text}s of a ${ownerScope.resource}`,
    ...(ownerScope.resource === "project" && {
      description: "With those that its team and company hand down.",
    }),
    list: of.list,
    asOf: rulesThen,
    reply: of.reply,
    handle: ({ page, request }, { db }) =>
      listed(listProtectionRules(db, scopeOf(request, of), page), of.viewOf),
  });
}

function get(ownerScope: OwnerScope, of: KindOfProtection): Route {
  return route({
    ...readingAt(ownerScope, "ADMIN"),
    method: "get",
    path: `${pathOf(ownerScope, of)}/{${idName(of)}}`,
    operationId: `get${ownerScope.noun}${of.noun}`,
    summary: `Get a ${of.text} of a ${ownerScope.resource}`,
    params: withId(of),
    asOf: rulesThen,
    reply: of.reply,
    handle: async ({ params, request }, { db }) =>
      of.viewOf(await found(db, scopeOf(request, of), String(params[idName(of)]))),
  });
}

function create(ownerScope: OwnerScope, of: KindOfProtection): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "post",
    path: `${pathOf(ownerScope, of)}/create`,
    operationId: `create${ownerScope.noun}${of.noun}`,
    summary: `Create a ${of.text} of a ${ownerScope.resource}`,
    body: of.create,
    reply: of.reply,
    async handle({ body: rule, request }, deps) {
      const ruleId = deterministicId(request.commandId, "protection rule");
      const { id: parentId, type: parentType } = parentOf(request);
      const order = { type: "CreateProtectionRule", ruleId, parentId, parentType, rule } as const;
      await write(order, request, deps);
      return of.viewOf(await found(deps.db, scopeOf(request, of), ruleId));
    },
  });
}

function edit(ownerScope: OwnerScope, of: KindOfProtection): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "patch",
    path: `${pathOf(ownerScope, of)}/edit`,
    operationId: `edit${ownerScope.noun}${of.noun}`,
    summary: `Change a ${of.text} of a ${ownerScope.resource}`,
    body: of.edit,
    reply: of.reply,
    async handle({ body: { uuid: ruleId, change }, request }, deps) {
      const { kind } = of;
      await write({ type: "EditProtectionRule", ruleId, kind, change }, request, deps);
      return of.viewOf(await found(deps.db, scopeOf(request, of), ruleId));
    },
  });
}

function remove(ownerScope: OwnerScope, of: KindOfProtection): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "delete",
    path: `${pathOf(ownerScope, of)}/{${idName(of)}}`,
    operationId: `delete${ownerScope.noun}${of.noun}`,
    summary: `Delete a ${of.text} of a ${ownerScope.resource}`,
    params: withId(of),
    status: 204,
    reply: "empty",
    async handle({ params, request }, deps) {
      const ruleId = String(params[idName(of)]);
      await write({ type: "DeleteProtectionRule", ruleId, kind: of.kind }, request, deps);
    },
  });
}

function apply(ownerScope: OwnerScope, of: KindOfProtection): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "post",
    path: `${pathOf(ownerScope, of)}/apply-settings-to-projects`,
    operationId: `apply${ownerScope.noun}${of.noun}s`,
    summary: `Give every project of a ${ownerScope.resource} its ${of.text}s`,
    description:
      "In force with the answer. A rule of a project for the same template becomes the stricter of both, others stay.",
    status: 204,
    reply: "empty",
    async handle({ request }, deps) {
      const { id: parentId, type: parentType } = parentOf(request);
      const applyId = deterministicId(request.commandId, "protection apply");
      const { kind } = of;
      await write({ type: "RequestApply", applyId, parentId, parentType, kind }, request, deps);
    },
  });
}

const LastApplyView = z
  .object({
    state: z.enum(["NONE", "DONE"]),
    projects: z.int().meta({ description: "How many were given the rules." }),
    requestedAt: instant().nullable(),
    finishedAt: instant().nullable(),
  })
  .meta({ id: "ApplyProgress" });

function lastApply(ownerScope: OwnerScope, of: KindOfProtection): Route {
  return route({
    ...readingAt(ownerScope, "ADMIN"),
    method: "get",
    path: `${pathOf(ownerScope, of)}/apply-settings-to-projects`,
    operationId: `get${ownerScope.noun}${of.noun}ApplyProgress`,
    summary: `Get when the ${of.text}s of a ${ownerScope.resource} were last applied to its projects`,
    asOf: rulesThen,
    reply: LastApplyView,
    async handle({ request }, { db }) {
      const last = await findLastApply(db, parentOf(request).id, of.kind);
      if (last === undefined) {
        return { state: "NONE" as const, projects: 0, requestedAt: null, finishedAt: null };
      }
      const { projects, applied_at: appliedAt } = last;
      return { state: "DONE" as const, projects, requestedAt: appliedAt, finishedAt: appliedAt };
    },
  });
}

/** `{tagProtectionUuid}` and its kind. */
const idName = ({ noun }: KindOfProtection) =>
  `${noun.charAt(0).toLowerCase()}${noun.slice(1)}Uuid`;

const withId = (of: KindOfProtection) => z.object({ [idName(of)]: Uuid });

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

type RequestedCommand = Exclude<ProtectionCommand, { type: "RecordApplied" }>;

async function write(
  command: Unstamped<RequestedCommand>,
  request: RequestContext & Resolved & Readonly<{ userId: UserId }>,
  { store, db, now }: Deps,
): Promise<void> {
  const { id, type } = parentOf(request);
  if (type === "PROJECT") await recordApplied(id, request, { store, db, now });
  await request.execute(
    protection,
    id,
    stamped<RequestedCommand>(command, stampOf(request, { now })),
  );
}

/**
 * Rules applied from above are rows of the read model; the stream of the project, by which changes
 * are decided, learns them before its next change. The rows keep what they are.
 */
async function recordApplied(
  id: string,
  request: RequestContext,
  { store, db, now }: Pick<Deps, "store" | "db" | "now">,
): Promise<void> {
  for (const applied of await findUnrecordedRules(db, id)) {
    const command = { type: "RecordApplied", ...applied, at: now().toISOString() } as const;
    const metadata = stepOf(await request.metadata(), "applied", applied.applyId);
    await handle(store, protection, { id, command, metadata });
  }
}

/** Rules about tags, environments and branches, at projects, teams and companies. */
export const protectionRoutes: readonly Route[] = ownerScopes.flatMap((ownerScope) =>
  kindsOfProtection.flatMap((of) => [
    list(ownerScope, of),
    get(ownerScope, of),
    create(ownerScope, of),
    edit(ownerScope, of),
    remove(ownerScope, of),
    ...(ownerScope.resource === "project"
      ? []
      : [apply(ownerScope, of), lastApply(ownerScope, of)]),
  ]),
);
