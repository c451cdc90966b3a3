import { PassThrough } from "node:stream";
import type { Context, Middleware } from "koa";

import { Alias } from "../../../events/core/ids.ts";
import type { CachedPack, PackCache } from "../../../git/pack-cache.ts";
import type {
  PackOptions,
  PackProcess,
  PackService,
  UploadProcess,
} from "../../../git/pack-service.ts";
import { isProtocolText, stopPackService } from "../../../git/pack-service.ts";
import { flushPacket, packet } from "../../../git/pkt-line.ts";
import type { GitRepositories } from "../../../git/repositories.ts";
import type { Repository } from "../../../git/repository.ts";
import { asCaller } from "../../../platform/caller.ts";
import type { Limit } from "../../../platform/limit.ts";
import { neighbourhoodOf } from "../../../platform/network.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { type GitConnectionsDeps, gitConnections } from "../../../services/git/connections.ts";
import { clientDisconnected, type PackSlots, packSlots } from "../../../services/git/pack-slots.ts";
import type { PushDeps } from "../../../services/git/push.ts";
import { HttpRefusal } from "../../core/errors.ts";
import { sendPieces } from "../../core/file/send-pieces.ts";
import { peerOf, whenClosed } from "../../core/peer.ts";
import { noteCaller, noteOperation } from "../../core/state.ts";
import { type ConnectionLimits, smallBody, watchConnection, wholeBody } from "../../core/stream.ts";
import { type GitAccessDeps, gitAccess } from "./access.ts";
import { uploadCapabilities } from "./capabilities.ts";
import { answerOf, type Input, packToCache } from "./in-process-answer.ts";
import { repositoryPath } from "./path.ts";
import { receivePack } from "./receive-pack.ts";
import { requestBytesMax, resultType, uploadPack } from "./upload-pack.ts";

export type GitHttpDeps = GitAccessDeps &
  PushDeps &
  GitConnectionsDeps &
  Readonly<{
    git: GitRepositories;
    slots?: PackSlots;
    limits?: Partial<ConnectionLimits>;
  }>;

type StartOptions = Pick<PackOptions, "denyForced" | "together" | "inputBytesMax" | "gate">;

type ServiceRequest = Readonly<{
  ctx: Context;
  service: PackService;
  /** Whether it is `info/refs`. */
  advertise: boolean;
  repository: Repository;
}>;

/** A connection without traffic for this time counts as broken; no transfer takes longer in all. */
const limitsDefault = {
  idleMs: 2 * 60_000,
  totalMs: 4 * 60 * 60_000,
  slow: { bytesMin: 240 * 1024, withinMs: 60_000 },
} as const;

/** A request for a list or a fetch has some hundreds of bytes; one with many ids is passed to git. */
const fetchRequestBytesMax = 64 * 1024;

const secondVersion = "version=2";

const path = repositoryPath("(info/refs|git-[a-z-]+)");

/** No cache may keep an answer: the next one depends on the refs of that moment. */
const neverKept = {
  "Cache-Control": "no-cache, max-age=0, must-revalidate",
  Expires: "Fri, 01 Jan 1980 00:00:00 GMT",
  Pragma: "no-cache",
};

/**
 * Git's smart HTTP protocol; gitprotocol-http(5), protocols 0 to 2. Fetch and push of one project's
 * repository at its addresses; see repositoryPath. Other paths are passed on.
 */
export function gitHttp(deps: GitHttpDeps): Middleware {
  const slots = packSlots(deps.slots);
  const connections = gitConnections(deps);
  const limits = { ...limitsDefault, ...deps.limits };
  return async (ctx, next) => {
    const named = path(ctx.path);
    if (named === undefined) return await next();
    const [owner, alias, rest] = named;
    const names = { ownerAlias: owner, projectAlias: alias };
    if (!Alias.safeParse(owner).success || !Alias.safeParse(alias).success) throw unknownProject();

    const service = serviceOf(ctx, rest);
    noteOperation(ctx, `git-${service}`);
    const { caller, project, role } = await gitAccess(ctx, service, names, deps);
    noteCaller(ctx, caller.userId);
    ctx.set(neverKept);

    const unwatch = connections.watch(caller, () => void ctx.req.socket.destroy());
    watchConnection(ctx, limits, unwatch);
    const repository = await deps.git.ensure(project.id, project.default_branch);
    const serviceRequest = { ctx, service, advertise: rest === "info/refs", repository };
    // Refs that git shows are shown by every other answer as well.
    if (serviceRequest.advertise) await deps.visible(await deps.refs.settle(project.id));
    const input = await answeredHere(serviceRequest, deps.git.packs);
    if (input === true) return;

    const share = caller.userId ?? neighbourhoodOf(peerOf(ctx));
    const { enter, leave } = slotFor(slots, ctx, share);
    const pushes = service === "receive-pack" && !serviceRequest.advertise;
    const fetches = service === "upload-pack" && !serviceRequest.advertise;
    const request = fetches ? await fetchRequest(ctx, input, share) : undefined;
    // A client that sends nothing holds no slot: requests are read before, and of pushes the commands.
    if (!pushes) await enter();
    const pack = input && packToCache(input, repository, deps.git.packs, leave);
    if (pack !== undefined) return sendPack(ctx, pack);
    const running: { child?: PackProcess | UploadProcess } = {};
    const stop = (): void => {
      if (running.child !== undefined) stopPackService(running.child);
    };
    try {
      const begin = <Child extends PackProcess | UploadProcess>(start: () => Child): Child => {
        // The close event already fired, so this child would never be stopped.
        if (ctx.req.socket.destroyed) {
          throw clientDisconnected();
        }
        const child = start();
        child.once("close", leave);
        running.child = child;
        return child;
      };
      const start = (options: StartOptions = {}) =>
        begin(() => startService(serviceRequest, options));
      if (serviceRequest.advertise) return advertiseRefs(ctx, service, start(), stop);
      if (request !== undefined) {
        const answer = await deps.git.outputs.of((end) =>
          begin(() => repository.startUpload(end, protocolOf(ctx))),
        );
        return uploadPack(ctx, request, answer, stop, deps.log);
      }
      await receivePack(ctx, { enter, start, stop, caller, project, role }, deps);
      if (running.child === undefined) leave();
    } catch (error) {
      if (running.child === undefined) leave();
      else stop();
      throw error;
    }
  };
}

function startService(
  { ctx, repository, service, advertise }: ServiceRequest,
  options: StartOptions = {},
) {
  const protocol = protocolOf(ctx);
  return repository.start(service, { advertise, protocol, ...options });
}

/**
 * Answers what takes no program of git, in version 2 of the protocol, which requests each by itself.
 *
 * @returns true when the answer is given; otherwise the request, if it was read for that
 */
async function answeredHere(
  serviceRequest: ServiceRequest,
  packs: PackCache,
): Promise<true | Input | undefined> {
  const { ctx, service, advertise, repository } = serviceRequest;
  if (service !== "upload-pack" || protocolOf(ctx) !== secondVersion) return undefined;
  if (advertise) {
    const capabilities = await uploadCapabilities(() => startService(serviceRequest));
    ctx.type = "application/x-git-upload-pack-advertisement";
    ctx.body = capabilities;
    return true;
  }
  const body = await smallBody(ctx, fetchRequestBytesMax);
  const answer = body && (await answerOf(body, repository, packs));
  if (answer === undefined || "body" in answer) return answer;
  if ("pack" in answer) sendPack(ctx, answer.pack);
  else {
    ctx.type = resultType;
    ctx.body = answer.refs;
  }
  return true;
}

function sendPack(ctx: Context, pack: CachedPack): void {
  ctx.type = resultType;
  const bytes = pack.bytes();
  if (bytes !== undefined) ctx.length = bytes;
  sendPieces(ctx, pack.pieces());
}

/** A slot for one request: `leave` gives it back, and does nothing before `enter` took it. */
function slotFor(slots: Limit, ctx: Context, share: string) {
  let left = (): void => undefined;
  return {
    enter: async (): Promise<void> => {
      left = (await whileThere(ctx, (signal) => slots.enter({ caller: share, signal }))).leave;
    },
    leave: (): void => left(),
  };
}

/** The request of a fetch; nothing of it is left to be read. */
function fetchRequest(ctx: Context, input: Input | undefined, share: string): Promise<Buffer> {
  if (input !== undefined) return Promise.resolve(input.body);
  return asCaller(share, () => wholeBody(ctx, requestBytesMax));
}

/** @param wait receives a signal that aborts when the caller's connection closes */
async function whileThere<Result>(
  { res }: Context,
  wait: (disconnected: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const leaving = new AbortController();
  const leave = (): void => leaving.abort(clientDisconnected());
  const takeBack = whenClosed(res, leave);
  try {
    return await wait(leaving.signal);
  } finally {
    takeBack();
  }
}

/** The requested service of git, when path, query, method and content type agree. */
function serviceOf(ctx: Context, rest: string): PackService {
  const named = rest === "info/refs" ? ctx.query["service"] : rest;
  if (named !== "git-upload-pack" && named !== "git-receive-pack") {
    if (rest !== "info/refs") throw new Refusal("not_found", "route.not_found", "No such service.");
    const message = "Only git's smart protocol is served; please update git.";
    throw new Refusal("forbidden", "git.service_unknown", message);
  }
  const method = rest === "info/refs" ? "GET" : "POST";
  if (ctx.method !== method) {
    const message = `${ctx.method} is not a method of this path.`;
    throw new HttpRefusal(405, "route.method_not_allowed", message, { Allow: method });
  }
  if (method === "POST") {
    if (ctx.get("content-type") !== `application/x-${named}-request`) {
      const message = "Path and content type name different services.";
      throw new HttpRefusal(415, "git.service_mismatch", message);
    }
    const requested = ctx.query["service"];
    if (requested !== undefined && requested !== named) {
      const message = "Path and query name different services.";
      throw new Refusal("bad_request", "git.service_mismatch", message);
    }
  }
  return named === "git-upload-pack" ? "upload-pack" : "receive-pack";
}

function protocolOf(ctx: Context): string | undefined {
  const header = ctx.get("git-protocol");
  return isProtocolText(header) ? header : undefined;
}

function advertiseRefs(
  ctx: Context,
  service: PackService,
  child: PackProcess,
  stop: () => void,
): void {
  ctx.type = `application/x-git-${service}-advertisement`;
  whenClosed(ctx.res, stop);
  child.stdin.end();
  child.stderr.resume();
  const answer = new PassThrough();
  // Version 2 begins with its own capabilities; before it, the service is named first.
  const second = service === "upload-pack" && /version=2/.test(protocolOf(ctx) ?? "");
  if (!second) answer.write(Buffer.concat([packet(`# service=git-${service}\n`), flushPacket]));
  ctx.body = child.stdout.pipe(answer);
}

function unknownProject(): Refusal {
  return new Refusal("not_found", "project.not_found", "Project not found.");
}
