import { z } from "zod";

import {
  type PipelineVariableCommand,
  pipelineVariable,
  variableNotFound,
} from "../../../commands/pipeline/variable.ts";
import type { UserId } from "../../../events/core/ids.ts";
import {
  serviceId,
  type VariableParent,
  type VariableSettings,
  variableSubject,
} from "../../../events/pipeline/variable.ts";
import type { Scope } from "../../../events/token/access-token.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { NotOpened } from "../../../platform/key/vault.ts";
import {
  findVariable,
  listVariables,
  type VariableRow,
} from "../../../projections/pipeline/variable.ts";
import type { Resolved } from "../../access/gate.ts";
import { accessAt, ownerScopes, parentOf } from "../../access/owner-scope.ts";
import { stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, type RoutePath, route } from "../../core/route.ts";
import { bool, fieldRefusal } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";

/** As long as a masked value must be: shorter ones would hide half of a log. */
const maskedLengthMin = 8;
const valueLengthMax = 64 * 1024;

export const VariableView = z
  .object({
    id: z.uuid(),
    key: z.string().meta({ examples: ["TOKEN"] }),
    value: z.string().nullable(),
    environmentScope: z.string().nullable().meta({ description: "Null for all environments." }),
    mask: z.boolean().meta({ description: "Hidden in logs of jobs." }),
    protected: z.boolean().meta({ description: "For protected branches and tags only." }),
    description: z.string().nullable(),
    type: z.enum(["VARIABLE", "FILE"]),
  })
  .meta({ id: "PipelineVariable" });

const Fields = {
  key: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "Use letters, digits and underscores.")
    .max(255)
    .meta({ examples: ["TOKEN"] }),
  value: z.string().max(valueLengthMax),
  environmentScope: z.string().trim().min(1).max(255).nullish(),
  mask: bool().default(false),
  protected: bool().default(false),
  description: z.string().max(1_000).nullish(),
  type: z.enum(["VARIABLE", "FILE"]).default("VARIABLE"),
};
const NewVariable = z.object(Fields).meta({ id: "NewPipelineVariable" });
const ChangedVariable = z
  .object({
    key: Fields.key.optional(),
    value: Fields.value.optional(),
    environmentScope: Fields.environmentScope,
    mask: bool().optional(),
    protected: bool().optional(),
    description: Fields.description,
    type: z.enum(["VARIABLE", "FILE"]).optional(),
  })
  .meta({ id: "ChangedPipelineVariable" });

/** Where variables are set: at projects, teams and companies, and at the instance for all projects. */
type VariableScope = Readonly<{
  /** In an operationId: `list{Project}PipelineVariables`. */
  noun: "Project" | "Team" | "Company" | "Instance";
  base: RoutePath;
  access: `${"project" | "team" | "company"}:ADMIN` | "admin";
  scope: Scope;
}>;

const variableScopes: readonly VariableScope[] = [
  ...ownerScopes.map((ownerScope) => ({
    ...ownerScope,
    access: accessAt(ownerScope, "ADMIN"),
    scope: ownerScope.write,
  })),
  { noun: "Instance", base: "/admin", access: "admin", scope: "USER_WRITE" },
];

type Request = RequestContext & Readonly<{ userId: UserId }>;

const isResolved = (request: object): request is Resolved =>
  "project" in request || "team" in request || "company" in request;

/** What the access of a route has resolved; at the instance nothing is. */
const variableParent = (request: Request): Readonly<{ id: string; type: VariableParent }> =>
  isResolved(request) ? parentOf(request) : { id: serviceId, type: "SERVICE" };

/** Values are secrets: all of this is for administrators. */
const declared = ({ access, scope }: VariableScope) =>
  ({ tag: "Pipelines", access, scope }) as const;
const pathOf = ({ base }: VariableScope) => `${base}/setting/cicd/variable` as const;
const ofWhom = ({ noun }: VariableScope) =>
  noun === "Instance" ? "the instance" : `a ${noun.toLowerCase()}`;

async function viewOf(row: VariableRow, { vault }: Deps): Promise<z.input<typeof VariableView>> {
  return toView(VariableView, row, {
    // One whose key is lost is shown as well: it is to be set anew.
    value: await vault.open(row.value).catch((error: unknown) => {
      if (error instanceof NotOpened) return null;
      throw error;
    }),
    mask: row.masked,
    type: row.kind,
  });
}

async function found(deps: Deps, request: Request, id: string): Promise<VariableRow> {
  const row = await findVariable(deps.db, variableParent(request).id, id);
  if (row === undefined) throw variableNotFound();
  return row;
}

/** `*` matches all environments, as null does. */
const scopeOf = (scope: string | null | undefined): string | null =>
  scope === undefined || scope === "*" ? null : scope;

function mustBeMaskable(masked: boolean, value: string): void {
  if (!masked || (value.length >= maskedLengthMin && !/[\r\n]/.test(value))) return;
  const message = `A masked value has one line of at least ${maskedLengthMin} characters.`;
  throw fieldRefusal("value", "variable.not_maskable", message);
}

type Unplaced<Command> = Command extends unknown
  ? Omit<Command, "parentId" | "parentType" | "by" | "at">
  : never;

async function write(
  order: Unplaced<PipelineVariableCommand>,
  request: Request,
  deps: Deps,
): Promise<void> {
  const { id: parentId, type: parentType } = variableParent(request);
  // Each member of the union lost these fields, and gets them back.
  const command = {
    ...order,
    parentId,
    parentType,
    ...stampOf(request, deps),
  } as PipelineVariableCommand;
  await request.execute(pipelineVariable, parentId, command);
}

const seal = (deps: Deps, request: Request, value: string) => {
  const { id, type } = variableParent(request);
  return deps.vault.seal(variableSubject(type, id), value);
};

const list = (at: VariableScope): Route =>
  route({
    ...declared(at),
    method: "get",
    path: pathOf(at),
    operationId: `list${at.noun}PipelineVariables`,
    summary: `List the pipeline variables of ${ofWhom(at)}`,
    list: "restPipelineJobVariableModelList",
    reply: VariableView,
    errors: [404],
    handle({ page, request }, deps) {
      const { id } = variableParent(request);
      return listed(listVariables(deps.db, id, page), (row) => viewOf(row, deps));
    },
  });

const get = (at: VariableScope): Route =>
  route({
    ...declared(at),
    method: "get",
    path: `${pathOf(at)}/{id}`,
    operationId: `get${at.noun}PipelineVariable`,
    summary: `Get a pipeline variable of ${ofWhom(at)}`,
    reply: VariableView,
    handle: async ({ params: { id }, request }, deps) =>
      viewOf(await found(deps, request, id), deps),
  });

const create = (at: VariableScope): Route =>
  route({
    ...declared(at),
    method: "post",
    path: pathOf(at),
    operationId: `create${at.noun}PipelineVariable`,
    summary: `Create a pipeline variable of ${ofWhom(at)}`,
    body: NewVariable,
    reply: VariableView,
    errors: [404],
    async handle({ body, request }, deps) {
      mustBeMaskable(body.mask, body.value);
      const variableId = deterministicId(request.commandId, "pipeline variable");
      const settings: VariableSettings = {
        key: body.key,
        value: await seal(deps, request, body.value),
        environmentScope: scopeOf(body.environmentScope),
        masked: body.mask,
        protected: body.protected,
        kind: body.type,
        description: body.description ?? null,
      };
      await write({ type: "CreateVariable", variableId, settings }, request, deps);
      return viewOf(await found(deps, request, variableId), deps);
    },
  });

const change = (at: VariableScope): Route =>
  route({
    ...declared(at),
    method: "put",
    path: `${pathOf(at)}/{id}`,
    operationId: `change${at.noun}PipelineVariable`,
    summary: `Change a pipeline variable of ${ofWhom(at)}`,
    description: "What is left out stays.",
    body: ChangedVariable,
    reply: VariableView,
    async handle({ params: { id }, body, request }, deps) {
      const row = await found(deps, request, id);
      const value = body.value ?? (await deps.vault.open(row.value)) ?? "";
      mustBeMaskable(body.mask ?? row.masked, value);
      const settings: Partial<VariableSettings> = {
        ...(body.key !== undefined && { key: body.key }),
        ...(body.value !== undefined && { value: await seal(deps, request, body.value) }),
        ...(body.environmentScope !== undefined && {
          environmentScope: scopeOf(body.environmentScope),
        }),
        ...(body.mask !== undefined && { masked: body.mask }),
        ...(body.protected !== undefined && { protected: body.protected }),
        ...(body.description !== undefined && { description: body.description }),
        ...(body.type !== undefined && { kind: body.type }),
      };
      const order = { type: "ChangeVariable", variableId: row.id, change: settings } as const;
      await write(order, request, deps);
      return viewOf(await found(deps, request, row.id), deps);
    },
  });

const remove = (at: VariableScope): Route =>
  route({
    ...declared(at),
    method: "delete",
    path: `${pathOf(at)}/{id}`,
    operationId: `delete${at.noun}PipelineVariable`,
    summary: `Delete a pipeline variable of ${ofWhom(at)}`,
    reply: "empty",
    async handle({ params: { id }, request }, deps) {
      const { id: variableId } = await found(deps, request, id);
      await write({ type: "DeleteVariable", variableId }, request, deps);
    },
  });

/** Variables that jobs get, at projects, teams, companies and the instance. */
export const variableRoutes: readonly Route[] = variableScopes.flatMap((at) => [
  list(at),
  get(at),
  create(at),
  change(at),
  remove(at),
]);
