import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Context } from "koa";
import type { z } from "zod";

import type { EventMetadata } from "../events/event.ts";
import { userSubject } from "../events/user.ts";
import { invariant } from "../platform/invariant.ts";
import { Limiter } from "../platform/limiter.ts";
import { Refusal } from "../platform/refusal.ts";
import { isReader, type Needed, neededRole, needsAdministrator } from "./access.ts";
import {
  type Answer,
  emptyAnswer,
  jsonAnswer,
  type StreamReply,
  send,
  streamAnswer,
} from "./answer.ts";
import type { Asked } from "./asked.ts";
import { tokenNeeded } from "./authenticate.ts";
import { type BodyLimits, bodyLimitsDefault, readForm, readJson } from "./body.ts";
import type { Deps } from "./deps.ts";
import { type Caller, type Gate, type Resolved, requireScope } from "./gate.ts";
import { requestBody, watchConnection } from "./git-stream.ts";
import { readInput } from "./input.ts";
import type { Machinery } from "./mount.ts";
import { envelope, type Listed } from "./page.ts";
import { peerOf } from "./peer.ts";
import type { RequestContext } from "./request.ts";
import type { HandlerInput, Route } from "./route.ts";
import { stateOf } from "./state.ts";

/** A line that is silent for so long is dead; the largest file on a slow one takes hours. */
const uploadLimits = { idleMs: 60_000, totalMs: 6 * 60 * 60_000 } as const;

type Params = Readonly<Record<string, unknown>>;

export async function serve(ctx: Context, asked: Asked, machinery: Machinery): Promise<void> {
  const { translate } = asked.route;
  try {
    await serveInOrder(ctx, asked, machinery);
  } catch (error) {
    throw translate === undefined ? error : translate(error);
  }
}

/** One request at one declared operation: prove, authorise, parse, handle, answer, in this order. */
async function serveInOrder(
  ctx: Context,
  asked: Asked,
  { deps, gate, idempotency, bodyLimits = bodyLimitsDefault }: Machinery,
): Promise<void> {
  const { route, params } = asked;
  stateOf(ctx).operationId = route.operationId;
  const isOpen = await isOpenToAll(route, deps);
  const caller = await gate.caller(ctx, isOpen ? "anonymous" : route.access);
  if (caller.userId !== null) stateOf(ctx).userId = caller.userId;
  requireScope(caller, route.scope);
  if (needsAdministrator(route.access) && !isOpen && !caller.isAdmin) {
    throw new Refusal("forbidden", "auth.admin_required", "Only administrators may do this.");
  }
  const needed = neededRole(route.access);
  const resolved = needed && (await resolve(gate, params, caller, needed));

  const limits = bodyLimitsOf(route, bodyLimits);
  const work = async (): Promise<void> => {
    await takeIn(ctx, asked, { caller, resolved, limits }, { deps, idempotency });
  };
  await (route.bodyBytesMax === undefined ? work() : largeBodies.run(work));
}

/** What such requests hold in memory is bounded by how many there are at once. */
const largeBodies = new Limiter(4);
const largeBodyTimeoutMs = 60_000;

function bodyLimitsOf({ bodyBytesMax }: Route, usual: BodyLimits): BodyLimits {
  if (bodyBytesMax === undefined) return usual;
  return { bytesMax: bodyBytesMax, timeoutMs: largeBodyTimeoutMs };
}

type Admitted = Readonly<{
  caller: Caller;
  resolved: Resolved | undefined;
  limits: BodyLimits;
}>;

async function takeIn(
  ctx: Context,
  asked: Asked,
  { caller, resolved, limits }: Admitted,
  { deps, idempotency }: Pick<Machinery, "deps" | "idempotency">,
): Promise<void> {
  const { route, params } = asked;
  const readBody = route.form === true ? readForm : readJson;
  const body = route.body && (await readBody(ctx, limits));
  asked.input ??= readInput(route, ctx, body?.json);
  const { input } = asked;
  const immutable: { tag?: string } = {};
  const run = async (commandId: string): Promise<Answer> => {
    const request = requestContext(ctx, deps, { caller, resolved, commandId, immutable });
    return await handle(route, { params, ...input, request }, deps);
  };

  const key = route.method === "post" ? ctx.get("idempotency-key") : "";
  const answer =
    key === "" || caller.userId === null
      ? await run(randomUUID())
      : await idempotency.once(
          {
            userId: caller.userId,
            operationId: route.operationId,
            key,
            request: [ctx.method, ctx.path, ctx.querystring, body?.bytes ?? uploadOf(ctx, route)],
            url: ctx.originalUrl,
            requestId: stateOf(ctx).requestId,
          },
          run,
        );
  send(ctx, answer, immutable.tag);
  if (route.secret === true) ctx.set("Cache-Control", "no-store");
}

/** Whoever shows a token has to show a good one, also while none is needed. */
async function isOpenToAll({ access, anonymousWhen }: Route, { settings }: Deps): Promise<boolean> {
  return isReader(access) && anonymousWhen !== undefined && (await settings())[anonymousWhen];
}

/** A caller without a token is told that one is needed, and nothing of what there is. */
async function resolve(
  gate: Gate,
  params: Params,
  caller: Caller,
  { resource, role }: Needed,
): Promise<Resolved> {
  try {
    return await gate[resource](params, caller, role);
  } catch (error) {
    if (caller.userId !== null || !(error instanceof Refusal)) throw error;
    throw tokenNeeded();
  }
}

async function handle(route: Route, input: HandlerInput, deps: Deps): Promise<Answer> {
  const { reply, list } = route;
  const status = route.status ?? 200;
  const result = await route.handle(input, deps);
  if (reply === "empty") return emptyAnswer(status);
  // The declared reply is "stream", so the handler's type was StreamReply.
  if (reply === "stream") return streamAnswer(status, result as StreamReply);
  if (list === undefined) return jsonAnswer(status, encode(reply, result));
  invariant(input.page !== undefined, "a list is always asked for by page");
  // The declaration has a list, so the handler's type was Listed.
  const { items, totalElements } = result as Listed<unknown>;
  const encoded = { items: items.map((item) => encode(reply, item)), totalElements };
  const answer = jsonAnswer(status, envelope(list, input.page, encoded));
  return { ...answer, headers: { ...answer.headers, "X-Total-Count": String(totalElements) } };
}

/** Only what the reply declares leaves the house: a column too many in a row stays inside. */
function encode(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  invariant(result.success, `an answer breaks its own schema: ${result.error?.message}`);
  return result.data;
}

/** The bytes of an upload are not known before it is over; how many there are is. */
function uploadOf(ctx: Context, { upload }: Route): string {
  return upload === undefined ? "" : ctx.get("content-length");
}

type Made = Readonly<{
  caller: Caller;
  resolved: Resolved | undefined;
  commandId: string;
  immutable: { tag?: string };
}>;

/** What handlers are told of a request, once it is known who makes it. */
export function requestContext(ctx: Context, deps: Deps, made: Made): RequestContext {
  const { caller, resolved, commandId, immutable } = made;
  const { requestId } = stateOf(ctx);
  const ip = peerOf(ctx);
  let metadata: Promise<EventMetadata> | undefined;
  let gone: AbortSignal | undefined;

  const seal = async (): Promise<EventMetadata> => ({
    actor: caller.actor,
    ip: caller.userId === null ? null : await deps.vault.seal(userSubject(caller.userId), ip),
    correlationId: requestId,
    causationId: null,
    commandId,
    schemaVersion: 1,
    occurredAt: deps.now().toISOString(),
  });

  return {
    ...resolved,
    actor: caller.actor,
    userId: caller.userId,
    isAdmin: caller.isAdmin,
    scopes: caller.scopes,
    ip,
    requestId,
    header: (name) => ctx.get(name),
    commandId,
    metadata: () => {
      metadata ??= seal();
      return metadata;
    },
    visible: deps.visible,
    immutable: (contentId) => {
      immutable.tag = contentId;
    },
    get signal() {
      gone ??= goneSignal(ctx.res);
      return gone;
    },
    incoming: (bytesMax) => {
      watchConnection(ctx, uploadLimits);
      return { contentType: ctx.get("content-type"), body: requestBody(ctx, bytesMax) };
    },
  };
}

function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const lookWhy = (): void => {
    if (!response.writableFinished) gone.abort();
  };
  if (response.closed) lookWhy();
  else response.once("close", lookWhy);
  return gone.signal;
}
