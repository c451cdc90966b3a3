import { randomUUID } from "node:crypto";
import type { Context, Middleware } from "koa";

import { Alias } from "../../../../events/core/ids.ts";
import { asCaller } from "../../../../platform/caller.ts";
import { neighbourhoodOf } from "../../../../platform/network.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import type { ApiLimit } from "../../../access/api-limit.ts";
import type { Caller } from "../../../access/gate.ts";
import { orNotFound } from "../../../api/package/request.ts";
import { type Answer, send } from "../../../core/answer.ts";
import { callAt, readMethod } from "../../../core/call-at.ts";
import { failedAnswer } from "../../../core/errors.ts";
import { anonymousCallerOf, type Idempotency } from "../../../core/idempotency.ts";
import { clientSignal, peerOf } from "../../../core/peer.ts";
import type { Problem } from "../../../core/problem.ts";
import { reportingTo, requestContext, transferLimits } from "../../../core/serve.ts";
import { noteCaller, noteOperation, stateOf } from "../../../core/state.ts";
import { watchConnection } from "../../../core/stream.ts";
import { ownsName } from "../proxy/cached-content.ts";
import { type NativeName, type RegistryAccessDeps, registryAccess } from "./access.ts";
import { hadPathToken } from "./path-token.ts";
import { packageIdsIn, proxySources } from "./source.ts";
import { type NativeCall, type NativeRequest, plainError, type RegistryType } from "./type.ts";
import { registryTypes } from "./types.ts";

export type NativeDeps = RegistryAccessDeps &
  Readonly<{ limit: ApiLimit; idempotency: Idempotency }>;

/** Where the repositories of each kind of owner are served to package managers. */
const bases = [
  /^\/registry\/(?<scope>project)\/(?<ownerAlias>[^/]+)\/(?<projectAlias>[^/]+)\/repository\/(?<repository>[^/]+)(?:\/(?<rest>.*))?$/s,
  /^\/registry\/(?<scope>company)\/(?<companyAlias>[^/]+)\/repository\/(?<repository>[^/]+)(?:\/(?<rest>.*))?$/s,
  /^\/registry\/(?<scope>instance)\/repository\/(?<repository>[^/]+)(?:\/(?<rest>.*))?$/s,
];

const pathLengthMax = 4_096;

type Named = NativeName & Readonly<{ rest: string }>;

/**
 * What package managers speak: each repository serves the protocol of its type below its base. Other
 * paths are passed on.
 */
export function nativeRegistry(deps: NativeDeps): Middleware {
  return async (ctx, next) => {
    const named = nameOf(ctx.path);
    if (named === undefined) return await next();
    const shown: { type?: RegistryType } = {};
    try {
      watchConnection(ctx, transferLimits);
      await answer(ctx, named, deps, shown);
    } catch (error) {
      refuse(ctx, error, shown.type, deps);
    }
  };
}

function nameOf(path: string): Named | undefined {
  for (const form of bases) {
    const { scope, repository = "", rest = "", ...params } = form.exec(path)?.groups ?? {};
    if (scope === undefined) continue;
    return { scope: scope as NativeName["scope"], params, repository, rest };
  }
  return undefined;
}

async function answer(
  ctx: Context,
  named: Named,
  deps: NativeDeps,
  shown: { type?: RegistryType },
): Promise<void> {
  noteOperation(ctx, "native-registry");
  const aliases = Object.values(named.params);
  if (!aliases.every((alias) => Alias.safeParse(alias).success)) throw nothingHere();
  // The known calls depend on the type, which only a caller who may read learns.
  const { caller, repository, path } = await registryAccess(ctx, named, "read", deps);
  noteCaller(ctx, caller.userId);
  await deps.limit(ctx, caller, peerOf(ctx));
  const type = typeOf(repository);
  shown.type = type;
  const isProxy = repository.settings.type === "PROXY";
  const calls = isProxy ? proxyCalls(type) : type.calls;
  const wanted = { path: decoded(named.rest), method: readMethod(ctx) };
  const { call, params } = callAt(ctx, calls, wanted, nothingHere);
  noteOperation(ctx, call.operationId);
  const mayHaveToken = type.takesPathTokens === true && call.right === "read";
  if (hadPathToken(ctx.req) && !mayHaveToken) throw nothingHere();
  const mustStill = async (): Promise<void> => {
    await registryAccess(ctx, named, call.right, deps);
  };
  if (call.right === "write") await mustStill();
  const immutable: { tag?: string } = {};
  const authenticated = { caller, resolved: undefined, admission: mustStill };
  // Not as the request spells it: indexes are kept by it.
  const base = `${deps.publicUrl}${path}`;
  const run = (commandId: string, using: NativeDeps): Promise<Answer> => {
    const request = requestContext(ctx, using, { ...authenticated, commandId, immutable });
    const native = { ctx, params, repository, base, request, mustStill };
    return answerOrFetch(call, native, { type, rest: named.rest }, using);
  };
  const key = call.right === "write" ? ctx.get("idempotency-key") : "";
  const answer = async (): Promise<void> => {
    if (key === "") return send(ctx, await run(randomUUID(), deps), immutable.tag);
    const keyed = { key, caller, call };
    sendKept(ctx, await onceUnder(ctx, keyed, run, deps), type);
  };
  await asCaller(
    caller.userId ?? neighbourhoodOf(peerOf(ctx)),
    answer,
    key === "" ? clientSignal(ctx) : undefined,
  );
}

type UnderKey = Readonly<{ key: string; caller: Caller; call: NativeCall }>;

/** A repeated upload is answered as the first was, where its own path would refuse it. */
function onceUnder(
  ctx: Context,
  { key, caller, call: { operationId } }: UnderKey,
  run: (commandId: string, using: NativeDeps) => Promise<Answer>,
  deps: NativeDeps,
): Promise<Answer> {
  const of = {
    key,
    callerId: caller.userId ?? anonymousCallerOf(peerOf(ctx)),
    jobProjectId: caller.job?.projectId,
    operationId,
    url: ctx.originalUrl,
    requestId: stateOf(ctx).requestId,
  };
  const request = [ctx.method, ctx.path, ctx.querystring, ctx.get("content-length")];
  return deps.idempotency.once({ ...of, request, repeatable: false }, (commandId, progress) =>
    run(commandId, reportingTo(deps, progress)),
  );
}

/** Refusals are kept as problem documents. */
function sendKept(ctx: Context, kept: Answer, type: RegistryType): void {
  send(ctx, kept, undefined);
  if (kept.status < 400 || typeof kept.body !== "string") return;
  show(ctx, JSON.parse(kept.body) as Problem, type);
}

/** @throws Refusal 404 `registry.protocol_unavailable` */
function typeOf({ package_type, settings }: RegistryRepositoryRow): RegistryType {
  const type = registryTypes.get(package_type);
  const isProxy = settings.type === "PROXY";
  if (type !== undefined && !(isProxy && type.proxy === undefined)) return type;
  const message =
    package_type === "container"
      ? "Images are read and stored at /v2/."
      : `${isProxy ? "Proxies" : "Repositories"} of packages of type ${package_type} are not served.`;
  throw new Refusal("not_found", "registry.protocol_unavailable", message);
}

const proxyCalls = ({ proxy = [] }: RegistryType): readonly NativeCall[] =>
  proxy.map((call) => ({ ...call, method: "GET", right: "read" }));

type At = Readonly<{ type: RegistryType; rest: string }>;

/** What a virtual repository has not in a local member is fetched by its proxies, where that is allowed. */
async function answerOrFetch(
  call: NativeCall,
  native: NativeRequest,
  at: At,
  deps: NativeDeps,
): Promise<Answer> {
  const { settings } = native.repository;
  const mayFetch =
    call.right === "read" && settings.type === "VIRTUAL" && settings.allowRemoteProxying;
  try {
    return await call.handle(native, deps);
  } catch (error) {
    if (!mayFetch || !(error instanceof Refusal) || error.kind !== "not_found") throw error;
    const fetched = await fetchFromProxies(native, at, deps);
    if (fetched === undefined) throw error;
    return fetched;
  }
}

/** @returns undefined when no proxy may be queried, or none has it */
async function fetchFromProxies(
  native: NativeRequest,
  { type, rest }: At,
  deps: NativeDeps,
): Promise<Answer | undefined> {
  const path = decoded(rest);
  for (const call of type.proxy ?? []) {
    const params = call.path.exec(path)?.groups;
    if (params === undefined) continue;
    const name = orNotFound(() => call.names(params));
    const of = { type: type.packageType, name };
    const claimed = await packageIdsIn(native.repository, of, deps);
    if (claimed.length > 0) return undefined;
    for (const repository of await proxySources(native.repository, deps)) {
      try {
        return await call.handle({ ...native, params, repository }, deps);
      } catch (error) {
        if (!(error instanceof Refusal) || error.kind !== "not_found") throw error;
      }
      if (await ownsName(repository, type.keptPaths?.(name) ?? [], deps.db)) return undefined;
    }
    return undefined;
  }
  return undefined;
}

/**
 * The path with each part decoded once. A slash may be encoded only after the scope of an npm package,
 * which npm writes so: `@scope%2fname`.
 *
 * @throws Refusal 404
 */
function decoded(rest: string): string {
  if (rest.length > pathLengthMax) throw nothingHere();
  const parts = rest.split("/").map((part) => {
    const text = decodedPart(part);
    const names = /^@[^/]+\/[^/]+$/.test(text) ? text.split("/") : [text];
    const isPlain = names.every((name) => name !== "." && name !== ".." && !/[/\\]/.test(name));
    if (!isPlain || /\p{Cc}/u.test(text)) throw nothingHere();
    return text;
  });
  return parts.join("/");
}

function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw nothingHere();
  }
}

/** Many clients show nothing of an answer but its reason phrase. */
function refuse(
  ctx: Context,
  error: unknown,
  type: RegistryType | undefined,
  { log }: Pick<NativeDeps, "log">,
): void {
  if (ctx.headerSent) throw error;
  const { status, headers, body } = failedAnswer(ctx, error, log);
  ctx.status = status;
  ctx.set(headers);
  show(ctx, JSON.parse(body) as Problem, type);
}

function show(
  ctx: Context,
  { message, code }: Pick<Problem, "message" | "code">,
  type: RegistryType | undefined,
): void {
  const shown = (type?.errorBody ?? plainError)(message, code);
  ctx.body = shown.body;
  ctx.set("Content-Type", shown.type);
  ctx.message = message.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 200);
}

function nothingHere(): Refusal {
  return new Refusal("not_found", "route.not_found", "There is nothing at this path.");
}
