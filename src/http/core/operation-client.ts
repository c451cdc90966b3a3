import { randomUUID } from "node:crypto";
import type { Context } from "koa";
import type { z } from "zod";

import type { Settings } from "../../events/instance/settings.ts";
import { asCaller } from "../../platform/caller.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { invariant } from "../../platform/invariant.ts";
import { neighbourhoodOf } from "../../platform/network.ts";
import { Refusal } from "../../platform/refusal.ts";
import { isStorableValue } from "../../platform/storable-text.ts";
import type { Until } from "../../projections/audit/happened.ts";
import type { Part } from "../../projections/list/list-rows.ts";
import { tokenNeeded } from "../access/authenticate.ts";
import type { Caller, Gate, Resolved } from "../access/gate.ts";
import { mustBeFound } from "../access/role-access.ts";
import { admission } from "./admission.ts";
import type { StreamReply } from "./answer.ts";
import { AsOfQuery, untilOf } from "./as-of.ts";
import type { Deps } from "./deps.ts";
import type { Progress } from "./idempotency.ts";
import { readParams } from "./input.ts";
import { isOpenToAll, mustBeFor, neededHere, resolveOwner, resultAt } from "./operation.ts";
import { type Listed, pageRequest } from "./paging.ts";
import { peerOf } from "./peer.ts";
import type { RequestFor } from "./request.ts";
import type { HandlerInput, Route } from "./route.ts";
import { check, checked, invalid } from "./schema.ts";
import { reportingTo, requestContext } from "./serve.ts";

/** The input of an operation, as texts of a URL and a body before they are parsed. */
export type OperationInput = Readonly<{
  params?: Readonly<Record<string, string | number>>;
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
  /** Of a list; `number` from 0. */
  page?: Readonly<{ number: number; size: number }>;
  /** A time or a position of the log: it answers as it was then, where the operation declares that. */
  asOf?: string | undefined;
}>;

type InProject = RequestFor<"project:GUEST">;

/**
 * Calls declared operations from within the service, on behalf of the caller of the request: with the
 * rights that each of them declares, its input checked and its answer encoded as for a client.
 */
export type OperationClient = Readonly<{
  /** @param reply the schema that the operation declares, which gives the answer its type */
  one: <S extends z.ZodType>(
    operationId: string,
    reply: S,
    input: OperationInput,
  ) => Promise<z.output<S>>;
  list: <S extends z.ZodType>(
    operationId: string,
    item: S,
    input: OperationInput,
  ) => Promise<Listed<z.output<S>>>;
  stream: (operationId: string, input: OperationInput) => Promise<StreamReply>;
  /** For what it does. */
  run: (operationId: string, input: OperationInput) => Promise<void>;
  /** Whether the declared rights let the caller in. */
  may: (operationId: string, params: NonNullable<OperationInput["params"]>) => Promise<boolean>;
  /** The project that the path names, when the declared rights let the caller in. */
  project: (
    operationId: string,
    params: NonNullable<OperationInput["params"]>,
  ) => Promise<InProject>;
}>;

export type OperationClientOptions = Readonly<{
  ctx: Context;
  caller: Caller;
  /** @throws Refusal when the caller is not who they were any more */
  recheckCaller: () => Promise<unknown>;
  /** The setting that lets callers without an account read what guests read. */
  anonymousWhen?: keyof Settings | undefined;
  /** Of a form that is sent under a key: every attempt performs the same operations as the same commands. */
  command?: Readonly<{ id: string; progress: Progress }> | undefined;
}>;

export type OperationClients = (who: OperationClientOptions) => OperationClient;

export function operationClients(
  routes: readonly Route[],
  serving: { deps: Deps; gate: Gate },
): OperationClients {
  const byId = new Map(routes.map((route) => [route.operationId, route]));
  const routeOf = (operationId: string): Route => {
    const route = byId.get(operationId);
    invariant(route !== undefined, `there is no operation ${operationId}`);
    return route;
  };
  return (who) => {
    const { ctx, caller, command } = who;
    const deps = command === undefined ? serving.deps : reportingTo(serving.deps, command.progress);
    const machinery = { deps, gate: serving.gate, commandIdOf: commandIds(command?.id) };
    const answer = async (route: Route, sent: OperationInput): Promise<unknown> => {
      const params = mustBeParams(route, sent.params ?? {});
      const request = await enter(route, params, who, machinery);
      const input = { params, ...inputOf(route, sent), page: pageOf(route, sent), request };
      const share = caller.userId ?? neighbourhoodOf(peerOf(ctx));
      const until = untilIn(sent);
      return await asCaller(share, () => resultAt(route, input as HandlerInput, deps, until));
    };
    const project: OperationClient["project"] = async (operationId, params) => {
      const route = routeOf(operationId);
      const request = await enter(route, mustBeParams(route, params), who, machinery);
      invariant("project" in request, "the operation is one of a project");
      // The declared access names a project, so the request holds it.
      return request as InProject;
    };
    return {
      project,
      async one(operationId, reply, input) {
        const route = routeOf(operationId);
        invariant(route.reply === reply && route.list === undefined, "the reply is another one");
        return (await answer(route, input)) as z.output<typeof reply>;
      },
      async list(operationId, item, input) {
        const route = routeOf(operationId);
        invariant(route.reply === item && route.list !== undefined, "the list is another one");
        return (await answer(route, input)) as Listed<z.output<typeof item>>;
      },
      async stream(operationId, input) {
        const route = routeOf(operationId);
        invariant(route.reply === "stream", "the operation sends a stream");
        return (await answer(route, input)) as StreamReply;
      },
      run: async (operationId, input) => void (await answer(routeOf(operationId), input)),
      async may(operationId, params) {
        const route = routeOf(operationId);
        try {
          await enter(route, mustBeParams(route, params), who, machinery);
          return true;
        } catch (error) {
          if (error instanceof Refusal) return false;
          throw error;
        }
      },
    };
  };
}

/** The same ids for the same operations in the same order; others each time without an id to begin with. */
function commandIds(id: string | undefined): (operationId: string) => string {
  let count = 0;
  return (operationId) => {
    if (id === undefined) return randomUUID();
    count += 1;
    return deterministicId(id, operationId, count);
  };
}

type Params = Readonly<Record<string, unknown>>;

async function enter(
  route: Route,
  params: Params,
  { ctx, caller, recheckCaller, anonymousWhen }: OperationClientOptions,
  {
    deps,
    gate,
    commandIdOf,
  }: Readonly<{ deps: Deps; gate: Gate; commandIdOf: (operationId: string) => string }>,
) {
  const isLetIn = await letsAnonymousRead(route, anonymousWhen, deps);
  const isOpen = isLetIn || (await isOpenToAll(route, deps));
  if (caller.userId === null && !isOpen && route.access !== "anonymous") throw tokenNeeded();
  const { first, admission: recheck } = await admission(async (before) => {
    if (before !== undefined) await recheckCaller();
    mustBeFor(caller, route, isOpen);
    const needed = neededHere(route, params, caller);
    if (needed === undefined) return { caller, resolved: undefined };
    const resolved = await hidden({ gate, params, caller, needed }, () =>
      resolveOwner(gate, params, caller, needed),
    );
    if (before?.resolved && idOf(before.resolved) !== idOf(resolved)) {
      mustBeFound(undefined, needed.resource);
    }
    return { caller, resolved };
  });
  const commandId = commandIdOf(route.operationId);
  const context = { ...first, admission: recheck, commandId, immutable: {} };
  return requestContext(ctx, deps, context);
}

async function letsAnonymousRead(
  { method, access }: Route,
  setting: keyof Settings | undefined,
  { settings }: Deps,
): Promise<boolean> {
  const reads = method === "get" && ["project:GUEST", "project:READER"].includes(access);
  return reads && setting !== undefined && (await settings())[setting] === true;
}

const resources = ["project", "team", "company"] as const;

type Looked = Readonly<{
  gate: Gate;
  params: Params;
  caller: Caller;
  needed: NonNullable<ReturnType<typeof neededHere>>;
}>;

/** A caller who may not see a thing gets the same answer as when it does not exist. */
async function hidden(
  { gate, params, caller, needed }: Looked,
  find: () => Promise<Resolved>,
): Promise<Resolved> {
  try {
    return await find();
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== "auth.role_missing") throw error;
    // Looked up once, as what is not there is: the time of the answer says nothing either.
    if (needed.role === "GUEST") mustBeFound(undefined, needed.resource);
    for (const resource of resources) {
      const isNamed = Object.keys(params).some((name) => name.startsWith(resource));
      if (!isNamed) continue;
      const seen = await gate[resource](params, caller, "GUEST").catch(() => undefined);
      mustBeFound(seen, resource);
    }
    throw error;
  }
}

function idOf(resolved: Resolved): string {
  if ("project" in resolved) return resolved.project.id;
  return "team" in resolved ? resolved.team.id : resolved.company.id;
}

function mustBeParams(route: Route, texts: NonNullable<OperationInput["params"]>): Params {
  const entries = Object.entries(texts).map(([name, value]) => [name, String(value)] as const);
  const params = readParams(route, Object.fromEntries(entries));
  if (params !== undefined) return params;
  throw new Refusal("not_found", "route.not_found", "There is nothing at this path.");
}

/** @throws Refusal 422 that lists every mistake in query and body */
function inputOf(route: Route, input: OperationInput) {
  if (!isStorableValue([input.query, input.body])) {
    const message = "It holds a NUL or half of a surrogate pair.";
    throw invalid([{ field: "", code: "error.field.invalid", message }]);
  }
  const query = route.query && check(route.query, input.query ?? {});
  const body = route.body && check(route.body, input.body ?? {});
  const errors = [query, body].flatMap((one) => (one?.ok === false ? one.errors : []));
  if (errors.length > 0) throw invalid(errors);
  return { query: query?.ok ? query.data : undefined, body: body?.ok ? body.data : undefined };
}

/** @throws Refusal 422 for what is neither a time nor a position */
function untilIn({ asOf }: OperationInput): Until | undefined {
  if (asOf === undefined) return undefined;
  checked(AsOfQuery, { asOf });
  return untilOf(asOf);
}

const sizeDefault = 30;

function pageOf({ list }: Route, { page }: OperationInput): Part | undefined {
  if (list === undefined) return undefined;
  const { number, size } = page ?? { number: 0, size: sizeDefault };
  return pageRequest({ page: number, size });
}
