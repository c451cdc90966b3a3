import type { z } from "zod";

import { normaliseAlias } from "../../events/core/ids.ts";
import { invariant } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Until } from "../../projections/audit/happened.ts";
import { isReader, type Needed, neededRole, needsAdministrator } from "../access/access.ts";
import { tokenNeeded } from "../access/authenticate.ts";
import { type Caller, type Gate, hasScope, type Resolved, requireScope } from "../access/gate.ts";
import {
  type Answer,
  emptyAnswer,
  jsonAnswer,
  Streamed,
  type StreamReply,
  streamAnswer,
} from "./answer.ts";
import { answerAsOf } from "./as-of-answer.ts";
import type { Deps } from "./deps.ts";
import { envelope, type Listed, pageHeaders } from "./paging.ts";
import type { HandlerInput, Route } from "./route.ts";

type Params = Readonly<Record<string, unknown>>;

/** A caller that shows a token has to show a valid one, also while none is needed. */
export async function isOpenToAll(
  { access, anonymousWhen }: Route,
  { settings }: Deps,
): Promise<boolean> {
  return isReader(access) && anonymousWhen !== undefined && (await settings())[anonymousWhen];
}

/**
 * The checks of a caller before a route looks up the thing that the path names.
 *
 * @param isOpen a setting lets everybody in
 * @throws Refusal 403
 */
export function mustBeFor(caller: Caller, route: Route, isOpen: boolean): void {
  requireScope(caller, route.scope);
  if (route.notForApplications === true && caller.actor.via === "oauth") throw forPeopleAlone();
  if (needsAdministrator(route.access) && !isOpen && !caller.isAdmin) {
    throw new Refusal("forbidden", "auth.admin_required", "Only administrators may do this.");
  }
}

function forPeopleAlone(): Refusal {
  const message =
    "An application cannot use what secures an account: e-mail, password, keys, tokens, " +
    "applications and the second factor. Use an access token of your own.";
  return new Refusal("forbidden", "auth.not_for_applications", message);
}

/** Without a role only the existence of the thing is checked. */
export type NeededHere = Readonly<{ resource: Needed["resource"]; role: Needed["role"] | null }>;

export function neededHere(
  { access, selfParam, orAdministrator }: Route,
  params: Params,
  { actor, isAdmin, scopes }: Caller,
): NeededHere | undefined {
  const needed = neededRole(access);
  if (needed === undefined) return undefined;
  if (orAdministrator === true && isAdmin && hasScope(scopes, "USER_WRITE")) {
    return { ...needed, role: null };
  }
  if (selfParam === undefined || actor.alias === null) return needed;
  const named = normaliseAlias(String(params[selfParam]));
  return named === normaliseAlias(actor.alias) ? { ...needed, role: "GUEST" } : needed;
}

/** A caller without a token receives only that one is needed, and nothing about what exists. */
export async function resolveOwner(
  gate: Gate,
  params: Params,
  caller: Caller,
  { resource, role }: NeededHere,
): Promise<Resolved> {
  try {
    return await gate[resource](params, caller, role);
  } catch (error) {
    if (caller.userId !== null || !(error instanceof Refusal)) throw error;
    throw tokenNeeded();
  }
}

/**
 * Runs the handler and makes the answer on the wire of what it gives back.
 *
 * @param url of the request, whole
 * @param until of a route that declares `asOf`: answers as it was then
 */
export async function runRoute(
  route: Route,
  input: HandlerInput,
  deps: Deps,
  { url, until }: Readonly<{ url: string; until: Until | undefined }>,
): Promise<Answer> {
  const { reply, list } = route;
  const status = route.status ?? 200;
  const result = await resultAt(route, input, deps, until);
  if (reply === "empty") return emptyAnswer(status);
  // The declared reply is "stream", so the handler's type was StreamReply.
  if (reply === "stream") return streamAnswer(status, result as StreamReply);
  if (result instanceof Streamed) return streamAnswer(status, result.reply);
  const answered = list === undefined ? result : wholeList(list, input, result);
  const answer = jsonAnswer(status, answered);
  if (route.method !== "get") return answer;
  return { ...answer, headers: { ...answer.headers, ...pageHeaders(answered, url) } };
}

function wholeList(list: string, { page }: HandlerInput, result: unknown) {
  invariant(page !== undefined, "a list is always requested by page");
  // The declaration has a list, so the handler's type was Listed.
  return envelope(list, page, result as Listed<unknown>);
}

/** Runs the handler; what it gives back holds nothing but what the reply declares. */
async function resultOf(route: Route, input: HandlerInput, deps: Deps): Promise<unknown> {
  const { reply, list } = route;
  const result = await route.handle(input, deps);
  if (reply === "empty" || reply === "stream" || result instanceof Streamed) return result;
  if (list === undefined) return encode(reply, result);
  // The declaration has a list, so the handler's type was Listed.
  const { items, totalElements } = result as Listed<unknown>;
  return { items: items.map((item) => encode(reply, item)), totalElements };
}

/** The result of now, or with `until` as it was then. */
export const resultAt = (
  route: Route,
  input: HandlerInput,
  deps: Deps,
  until: Until | undefined,
): Promise<unknown> =>
  until === undefined ? resultOf(route, input, deps) : resultAsOf(route, input, deps, until);

function resultAsOf(route: Route, input: HandlerInput, deps: Deps, until: Until): Promise<unknown> {
  const { asOf } = route;
  invariant(asOf !== undefined, `${route.operationId} declares how it answers of the past`);
  // Parameters are parsed by an object schema.
  const params = input.params as Params;
  return answerAsOf({ asOf, until, params, request: input.request }, deps, (then) =>
    resultOf(route, { ...input, params: then.params, request: then.request }, then.deps),
  );
}

/** Only what the reply declares leaves the house: a column too many in a row stays inside. */
function encode(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  invariant(result.success, `an answer breaks its own schema: ${result.error?.message}`);
  return result.data;
}
