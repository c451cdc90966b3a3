import { randomUUID } from "node:crypto";
import type { Context, Middleware } from "koa";

import { asCaller } from "../../../platform/caller.ts";
import { containerTokens } from "../../../platform/container/token.ts";
import { neighbourhoodOf } from "../../../platform/network.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { ApiLimit } from "../../access/api-limit.ts";
import { type Answer, jsonAnswer, send } from "../../core/answer.ts";
import { callAt, readMethod } from "../../core/call-at.ts";
import { failedAnswer, HttpRefusal } from "../../core/errors.ts";
import { peerOf } from "../../core/peer.ts";
import { requestContext } from "../../core/serve.ts";
import { noteCaller, noteOperation, stateOf } from "../../core/state.ts";
import { watchConnection } from "../../core/stream.ts";
import type { RegistryAccessDeps } from "../package/core/access.ts";
import {
  type ContainerAccessDeps,
  catalogCaller,
  containerAccess,
  issueToken,
  mustBeAuthenticated,
} from "./access.ts";
import { blobCalls } from "./blob.ts";
import type { ContainerCall, ContainerRequest } from "./call.ts";
import { catalog } from "./catalog.ts";
import { containerCodeOf, containerRefusal } from "./error.ts";
import { listingCalls } from "./listing.ts";
import { manifestCalls } from "./manifest.ts";
import { type ImageName, readImageName } from "./name.ts";
import { answerRead } from "./proxy.ts";
import { uploadCalls } from "./upload.ts";

const calls: readonly ContainerCall[] = [
  ...uploadCalls,
  ...blobCalls,
  ...manifestCalls,
  ...listingCalls,
];

/** The name is as long as it can be: an image may be called `tags` or `blobs`. */
const form =
  /^\/v2\/(?<name>.+)\/(?<rest>blobs\/uploads\/?[^/]*|(?:blobs|manifests|referrers)\/[^/]+|tags\/list)\/?$/;
const pathLengthMax = 1_024;
/** A line that is silent for so long is dead; the largest layer on a slow one takes hours. */
const limits = { idleMs: 60_000, totalMs: 6 * 60 * 60_000 } as const;

type ContainerDeps = RegistryAccessDeps & Readonly<{ limit: ApiLimit }>;
type Using = ContainerAccessDeps & ContainerDeps;

/**
 * The registry of container images, at `/v2/`: OCI distribution-spec 1.1, with the tokens of Docker's
 * distribution. Other paths are passed on.
 */
export function containerRegistry(given: ContainerDeps): Middleware {
  const deps: Using = { ...given, tokens: containerTokens(given.vault, given.now) };
  return async (ctx, next) => {
    if (ctx.path !== "/v2" && !ctx.path.startsWith("/v2/")) return await next();
    noteOperation(ctx, "container-registry");
    ctx.set("Docker-Distribution-API-Version", "registry/2.0");
    try {
      watchConnection(ctx, limits);
      await answer(ctx, deps);
    } catch (error) {
      refuse(ctx, error, deps);
    }
  };
}

async function answer(ctx: Context, deps: Using): Promise<void> {
  const isRead = ctx.method === "GET" || ctx.method === "HEAD";
  const plain = ctx.path.replace(/\/$/, "");
  if (plain === "/v2" && isRead) {
    const caller = await mustBeAuthenticated(ctx, deps);
    await deps.limit(ctx, caller, peerOf(ctx));
    return send(ctx, jsonAnswer(200, {}), undefined);
  }
  if ((plain === "/v2/token" || plain === "/v2/_catalog") && !isRead)
    throw new HttpRefusal(405, "route.method_not_allowed", "Use GET.", { Allow: "GET" });
  if (plain === "/v2/_catalog") return await answerCatalog(ctx, deps);
  if (plain === "/v2/token") {
    send(ctx, jsonAnswer(200, await issueToken(ctx, deps)), undefined);
    ctx.set("Cache-Control", "no-store");
    return;
  }
  await answerCall(ctx, deps);
}

async function answerCatalog(ctx: Context, deps: Using): Promise<void> {
  noteOperation(ctx, "list-container-images");
  const caller = await catalogCaller(ctx, deps);
  noteCaller(ctx, caller.userId);
  const peer = peerOf(ctx);
  await deps.limit(ctx, caller, peer);
  await asCaller(caller.userId ?? neighbourhoodOf(peer), async () => {
    send(ctx, await catalog(ctx, caller, deps), undefined);
  });
}

async function answerCall(ctx: Context, deps: Using): Promise<void> {
  const { name, rest } = named(ctx);
  const { call, params } = callAt(ctx, calls, { path: rest, method: readMethod(ctx) }, nothingHere);
  noteOperation(ctx, call.operationId);
  const access = await containerAccess(ctx, name, call.right, deps);
  const { caller, repository, again: mustStill } = access;
  noteCaller(ctx, caller.userId);
  await deps.limit(ctx, caller, peerOf(ctx));
  const authenticated = { caller, resolved: undefined, admission: mustStill };
  const request = requestContext(ctx, deps, {
    ...authenticated,
    commandId: randomUUID(),
    immutable: {},
  });
  const readable: ContainerRequest["readable"] = (other) => readableImage(ctx, other, deps);
  await asCaller(caller.userId ?? neighbourhoodOf(peerOf(ctx)), async () => {
    const about = { ctx, name, params, repository, caller, request, mustStill, readable };
    const answered: Answer =
      call.right === "read"
        ? await answerRead(call, about, rest, deps)
        : await call.handle(about, deps);
    send(ctx, answered, undefined);
  });
}

async function readableImage(ctx: Context, name: ImageName, deps: Using) {
  try {
    return (await containerAccess(ctx, name, "read", deps)).repository;
  } catch (error) {
    if (error instanceof HttpRefusal || error instanceof Refusal) return undefined;
    throw error;
  }
}

/** @throws HttpRefusal 404 */
function named(ctx: Context): Readonly<{ name: ImageName; rest: string }> {
  const groups = ctx.path.length > pathLengthMax ? undefined : form.exec(ctx.path)?.groups;
  if (groups === undefined) throw nothingHere();
  const { name = "", rest = "" } = groups;
  return { name: readImageName(name), rest: rest.replace(/%3a/gi, ":") };
}

function nothingHere() {
  return containerRefusal(404, "NAME_UNKNOWN", "There is nothing at this path.");
}

/** OCI distribution-spec, "Error Codes". */
function refuse(ctx: Context, error: unknown, { log }: Pick<Using, "log">): void {
  if (ctx.headerSent) throw error;
  const { status, headers, body, code } = failedAnswer(ctx, error, log);
  const { message } = JSON.parse(body) as Readonly<{ message: string }>;
  ctx.status = status;
  ctx.set(headers);
  const detail = { code, requestId: stateOf(ctx).requestId };
  ctx.body = JSON.stringify({
    errors: [{ code: containerCodeOf(status, code), message, detail }],
  });
  ctx.set("Content-Type", "application/json; charset=utf-8");
}
