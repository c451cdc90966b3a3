import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "koa";

import { handle } from "../../commands/core/handle.ts";
import { requestedBy } from "../../commands/core/requested.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { asCaller, goOnWithoutClient } from "../../platform/caller.ts";
import { Limit } from "../../platform/limit.ts";
import { neighbourhoodOf } from "../../platform/network.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Caller, Gate, Resolved } from "../access/gate.ts";
import { mustBeFound } from "../access/role-access.ts";
import { type Admitted, admission } from "./admission.ts";
import { type Answer, emptyAnswer, send } from "./answer.ts";
import { type BodyLimits, bodyLimitsDefault, jsonOf, readForm, readJson } from "./body.ts";
import type { Deps } from "./deps.ts";
import {
  anonymousCallerOf,
  type Idempotency,
  type Progress,
  takesIdempotencyKey,
} from "./idempotency.ts";
import { type Input, readInput } from "./input.ts";
import { isOpenToAll, mustBeFor, neededHere, resolveOwner, runRoute } from "./operation.ts";
import { clientSignal, peerOf } from "./peer.ts";
import type { RequestContext } from "./request.ts";
import type { HandlerInput, Route } from "./route.ts";
import { noteCaller, noteOperation, stateOf } from "./state.ts";
import { requestBody, spooledBody, watchConnection } from "./stream.ts";

/** The operation that the method and path of a request name. */
export type MatchedRoute = Readonly<{ route: Route; params: Readonly<Record<string, unknown>> }>;

/** What serving a route takes beside the route. */
export type Machinery = Readonly<{
  deps: Deps;
  gate: Gate;
  idempotency: Idempotency;
  bodyLimits?: BodyLimits;
}>;

/**
 * A line that is silent for so long is dead; the largest file on a slow one takes hours. A reader that is slower than
 * this has gone, or waits on purpose.
 */
export const transferLimits = {
  idleMs: 60_000,
  totalMs: 6 * 60 * 60_000,
  slow: { bytesMin: 60 * 1024, withinMs: 60_000 },
} as const;

export async function serve(
  ctx: Context,
  matched: MatchedRoute,
  machinery: Machinery,
): Promise<void> {
  const { translate } = matched.route;
  try {
    await serveInOrder(ctx, matched, machinery);
  } catch (error) {
    throw translate === undefined ? error : translate(error);
  }
}

/** One request at one declared operation: authenticate, authorise, parse, handle, answer, in this order. */
async function serveInOrder(
  ctx: Context,
  matched: MatchedRoute,
  { deps, gate, idempotency, bodyLimits = bodyLimitsDefault }: Machinery,
): Promise<void> {
  const { route } = matched;
  noteOperation(ctx, route.operationId);
  // An application authenticates in the handler: its answer is not for another caller with the same key.
  const isRepeatable = takesIdempotencyKey(route) && route.access !== "client";
  const key = isRepeatable ? ctx.get("idempotency-key") : "";
  const gateDeps = { deps, gate };
  const admitHere = () => admission((first) => admit(ctx, matched, gateDeps, first));
  // Under a key, an answer that is kept comes before everything that may have changed since.
  const admitted = key === "" ? await admitHere() : undefined;
  const caller = admitted?.first.caller ?? (await authenticate(ctx, matched, gateDeps));

  // A reader that stalls holds a process, or a file, for as long.
  if (route.reply === "stream" || route.alsoAs !== undefined) watchConnection(ctx, transferLimits);
  const work = async (bytes?: Buffer): Promise<void> => {
    const { bytes: body, input } = await takeIn(
      ctx,
      matched,
      bytes ?? bodyLimitsOf(route, bodyLimits),
    );
    const immutable: { tag?: string } = {};
    const run: Run = async (using, commandId, { first, admission: recheck }) => {
      const again = isCheckedOnce(route) ? async () => first : recheck;
      const context = { ...(await again()), admission: again, commandId, immutable };
      const request = requestContext(ctx, using, context);
      return await runRoute(
        route,
        { params: matched.params, ...input, request } as HandlerInput,
        using,
        { url: deps.publicUrl + ctx.originalUrl, until: input.asOf },
      );
    };
    const answer =
      admitted !== undefined
        ? await run(deps, randomUUID(), admitted)
        : await once(ctx, matched, { key, caller, body, admitHere, run }, { deps, idempotency });
    send(ctx, answer, immutable.tag);
    if (route.secret === true) ctx.set("Cache-Control", "no-store");
  };
  const { bodyBytesMax } = route;
  const isLarge = bodyBytesMax !== undefined && !isSmall(ctx, bodyLimits);
  await asCaller(
    caller.userId ?? neighbourhoodOf(peerOf(ctx)),
    () => (isLarge ? inTurn(ctx, bodyBytesMax, work) : work()),
    // Under a key, the client may send the request again and is given the same answer.
    key === "" ? clientSignal(ctx) : undefined,
  );
}

/** A turn begins once the whole body is there: who sends it slowly holds up nobody. */
async function inTurn(
  ctx: Context,
  bytesMax: number,
  work: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  const body = await spooledBody(ctx, { bytesMax, ...largeBodyLimits });
  try {
    await largeBodies.run(async () => work(await body.read()), { signal: clientSignal(ctx)() });
  } finally {
    await body.close();
  }
}

type AdmitHere = () => ReturnType<typeof admission>;
type Run = (
  deps: Deps,
  commandId: string,
  admitted: Awaited<ReturnType<typeof admission>>,
) => Promise<Answer>;

/**
 * Who calls, and what they may do here.
 *
 * @param first what was found before: the same project, team or company has to be found again
 * @throws Refusal 403, 404
 */
async function admit(
  ctx: Context,
  matched: MatchedRoute,
  machinery: Pick<Machinery, "deps" | "gate">,
  first?: Admitted,
): Promise<Admitted> {
  const { route, params } = matched;
  // A path whose parameters cannot be read is refused later, with its reason.
  const isOpen = params !== undefined && (await route.isOpen?.(params, machinery.deps)) === true;
  const caller = await authenticate(ctx, matched, machinery, isOpen);
  const ofRoute = neededHere(route, params, caller);
  const needed = isOpen && ofRoute ? { ...ofRoute, role: null } : ofRoute;
  const resolved = needed && (await resolveOwner(machinery.gate, params, caller, needed));
  // The path may name another one by now, in which the caller has other rights.
  if (first?.resolved && resolved) mustBeFound(sameId(first.resolved, resolved), needed.resource);
  return { caller, resolved };
}

/** Who calls, with the scope that the operation needs. @throws Refusal 403 */
async function authenticate(
  ctx: Context,
  { route }: MatchedRoute,
  { deps, gate }: Pick<Machinery, "deps" | "gate">,
  isOpenHere = false,
): Promise<Caller> {
  const isOpen = isOpenHere || (await isOpenToAll(route, deps));
  const caller = await gate.caller(ctx, isOpen ? "anonymous" : route.access, route.forJobs);
  noteCaller(ctx, caller.userId);
  mustBeFor(caller, route, isOpen);
  return caller;
}

/** A password is checked only once, as its second factor is valid once. Such a body has to come at once. */
const isCheckedOnce = ({ access }: Route): boolean => access === "basic" || access === "client";
const basicBodyTimeoutMs = 5_000;

function sameId(first: Resolved, now: Resolved): string | undefined {
  return idOf(first) === idOf(now) ? idOf(now) : undefined;
}

function idOf(resolved: Resolved): string {
  if ("project" in resolved) return resolved.project.id;
  return "team" in resolved ? resolved.team.id : resolved.company.id;
}

/** What such requests hold in memory is bounded by how many there are at once, of all and of one caller. */
export const largeBodies = new Limit({
  name: "http.large_bodies",
  total: 8,
  share: 2,
  whenFull: { refuseAfterMs: 60_000 },
  waitersShare: 32,
});
const largeBodyLimits = {
  timeoutMs: 60_000,
  slow: { bytesMin: 40 * 1024, withinMs: 10_000 },
} as const;

/** Promised to be no larger than those of other requests: it needs no place, and waits for none. */
function isSmall(ctx: Context, { bytesMax }: BodyLimits): boolean {
  return Number(ctx.get("content-length") || Number.NaN) <= bytesMax;
}

function bodyLimitsOf({ access }: Route, usual: BodyLimits): BodyLimits {
  if (access !== "basic") return usual;
  return { ...usual, timeoutMs: Math.min(usual.timeoutMs, basicBodyTimeoutMs) };
}

/**
 * Parses what the request says.
 *
 * @param from the bytes of a body that has come, or limits to read it within
 * @returns the bytes of a body that is no upload, and what was parsed
 */
async function takeIn(
  ctx: Context,
  { route }: MatchedRoute,
  from: Buffer | BodyLimits,
): Promise<Readonly<{ bytes: Buffer | undefined; input: Input }>> {
  const body = route.body && (await parsedBody(ctx, route, from));
  return { bytes: body?.bytes, input: readInput(route, ctx, body?.json) };
}

function parsedBody(ctx: Context, { form }: Route, from: Buffer | BodyLimits) {
  if (Buffer.isBuffer(from)) return jsonOf(ctx, from);
  return form === true ? readForm(ctx, from) : readJson(ctx, from);
}

type UnderKey = Readonly<{
  key: string;
  caller: Caller;
  body: Buffer | undefined;
  admitHere: AdmitHere;
  run: Run;
}>;

/** One request under an Idempotency-Key: what it requests is looked up only when it is run. */
function once(
  ctx: Context,
  { route }: MatchedRoute,
  { key, caller, body, admitHere, run }: UnderKey,
  { deps, idempotency }: Pick<Machinery, "deps" | "idempotency">,
): Promise<Answer> {
  const streams = route.upload !== undefined || route.attachment === true;
  return idempotency.once(
    {
      callerId: caller.userId ?? anonymousCallerOf(peerOf(ctx)),
      jobProjectId: caller.job?.projectId,
      operationId: route.operationId,
      key,
      request: [ctx.method, ctx.path, ctx.querystring, body ?? uploadOf(ctx, route)],
      url: ctx.originalUrl,
      requestId: stateOf(ctx).requestId,
      repeatable: !streams,
      ...(route.reply === "empty" ? { success: emptyAnswer(route.status ?? 200) } : {}),
    },
    async (commandId, progress) => run(reportingTo(deps, progress), commandId, await admitHere()),
  );
}

const visibleMaxMs = 60_000;
const visiblePauseMs = 100;

/** Waits for the read models for longer than the client does, and notes that something was appended. */
export function reportingTo<D extends Deps>(deps: D, { appended, answerEarly }: Progress): D {
  const { store, visible } = deps;
  return {
    ...deps,
    store: {
      ...store,
      async append(...order) {
        const result = await store.append(...order);
        appended();
        return result;
      },
    },
    async visible(position) {
      const deadline = performance.now() + visibleMaxMs;
      for (;;) {
        try {
          return await visible(position);
        } catch (error) {
          const isLate = error instanceof Refusal && error.code === "projection.lagging";
          if (!isLate || performance.now() > deadline) throw error;
          answerEarly(error);
          await delay(visiblePauseMs, undefined, { ref: false });
        }
      }
    },
  };
}

/** The bytes of an upload are not known before it is over; how many there are is. */
function uploadOf(ctx: Context, { upload, attachment }: Route): string {
  return upload === undefined && attachment !== true ? "" : ctx.get("content-length");
}

type AdmittedRequest = Admitted &
  Readonly<{
    /** Checked before the first event of the request. */
    admission: () => Promise<unknown>;
    commandId: string;
    immutable: { tag?: string };
  }>;

/** What handlers receive about a request, once its caller is known. */
export function requestContext(
  ctx: Context,
  deps: Deps,
  admitted: AdmittedRequest,
): RequestContext {
  const { caller, resolved, admission, commandId, immutable } = admitted;
  const { requestId } = stateOf(ctx);
  const ip = peerOf(ctx);
  let metadata: Promise<EventMetadata> | undefined;
  const signal = clientSignal(ctx);
  const mustStillMay = async (): Promise<void> => void (await admission());

  const { userId } = caller;
  let { actor } = caller;
  const seal = (): Promise<EventMetadata> =>
    requestedBy(deps, { actor, userId, ip, requestId, commandId });

  return {
    ...resolved,
    actor: caller.actor,
    userId: caller.userId,
    isAdmin: caller.isAdmin,
    scopes: caller.scopes,
    ...(caller.expiresAt && { expiresAt: caller.expiresAt }),
    ...(caller.job && { job: caller.job }),
    ip,
    requestId,
    header: (name) => ctx.get(name),
    commandId,
    actBy: (another) => {
      actor = another;
    },
    metadata: () => {
      // Later steps of what has begun may take rights away themselves.
      metadata ??= mustStillMay().then(seal);
      goOnWithoutClient();
      return metadata;
    },
    mustStillMay,
    async execute(slice, id, command) {
      await this.executeProcess((metadata) => handle(deps.store, slice, { id, command, metadata }));
    },
    async executeProcess(process) {
      // A copy of a request may have an envelope of its own.
      const result = await process(await this.metadata());
      await this.visible(result.position);
      return result;
    },
    visible: deps.visible,
    immutable: (contentId) => {
      immutable.tag = contentId;
    },
    get signal() {
      return signal();
    },
    incoming: (bytesMax) => {
      watchConnection(ctx, transferLimits);
      return { contentType: ctx.get("content-type"), body: requestBody(ctx, bytesMax) };
    },
  };
}
