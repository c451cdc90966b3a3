import type { Context, Middleware } from "koa";

import { Alias } from "../../../events/core/ids.ts";
import { type LfsOperation, lfsTokens } from "../../../platform/key/lfs-token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { gitConnections } from "../../../services/git/connections.ts";
import { callAt } from "../../core/call-at.ts";
import type { Deps } from "../../core/deps.ts";
import { failedAnswer } from "../../core/errors.ts";
import { whenClosed } from "../../core/peer.ts";
import { noteCaller, noteOperation, stateOf } from "../../core/state.ts";
import { watchConnection } from "../../core/stream.ts";
import type { GitAccessDeps } from "../git/access.ts";
import { repositoryPath } from "../git/path.ts";
import { lfsAccess } from "./access.ts";
import { lockCalls } from "./lock.ts";
import { objectCalls } from "./object.ts";
import type { LfsCall, LfsRequest } from "./request.ts";

export type LfsHttpDeps = Deps & GitAccessDeps & Pick<LfsRequest, "bytesLeft" | "hold">;

const path = repositoryPath("info/lfs/(.+)");
/** A line that is silent for so long is dead; the largest object on a slow one takes hours. */
const limits = { idleMs: 60_000, totalMs: 6 * 60 * 60_000 } as const;
const lfsType = "application/vnd.git-lfs+json";

const calls: readonly LfsCall[] = [...objectCalls, ...lockCalls];

/**
 * The server of git-lfs: batch, basic transfer and locks of one project's objects, at `info/lfs` below
 * the addresses of its repository; git-lfs/docs/api. Other paths are passed on.
 */
export function lfsHttp(deps: LfsHttpDeps): Middleware {
  const connections = gitConnections(deps);
  const tokens = lfsTokens(deps.vault, deps.now);
  return async (ctx, next) => {
    const named = path(ctx.path);
    if (named === undefined) return await next();
    try {
      const [ownerAlias, projectAlias, rest] = named;
      const { call, params } = callAt(ctx, calls, { path: rest }, nothingHere);
      noteOperation(ctx, call.operationId);
      const names = { ownerAlias, projectAlias };
      const known = Object.values(names).every((name) => Alias.safeParse(name).success);
      if (!known) throw new Refusal("not_found", "project.not_found", "Project not found.");
      const authenticate = async (operation: LfsOperation) => {
        const access = await lfsAccess(ctx, operation, names, { ...deps, lfsTokens: tokens });
        const { caller } = access;
        const sshKeyId = access.grant?.keyId ?? undefined;
        noteCaller(ctx, caller.userId);
        const cut = (): void => void ctx.req.socket.destroy();
        const opened = sshKeyId === undefined ? caller : { ...caller, sshKeyId };
        whenClosed(ctx.res, connections.watch(opened, cut));
        return access;
      };
      watchConnection(ctx, limits);
      const request: LfsRequest = {
        ctx,
        params,
        authenticate,
        tokens,
        bytesLeft: deps.bytesLeft,
        hold: deps.hold,
      };
      await call.handle(request, deps);
    } catch (error) {
      answerRefusal(ctx, error, deps);
    }
  };
}

const nothingHere = (): Refusal =>
  new Refusal("not_found", "route.not_found", "There is nothing at this path.");

/** In the form that git-lfs prints: git-lfs/docs/api/batch.md, "Response Errors". */
function answerRefusal(ctx: Context, error: unknown, { log }: Pick<Deps, "log">): void {
  if (ctx.headerSent) throw error;
  const { status, headers, body, code } = failedAnswer(ctx, error, log);
  const { message } = JSON.parse(body) as Readonly<{ message: string }>;
  ctx.status = status;
  ctx.set(headers);
  const login = headers["WWW-Authenticate"];
  if (login !== undefined) ctx.set("LFS-Authenticate", login);
  ctx.body = JSON.stringify({ message, code, request_id: stateOf(ctx).requestId });
  ctx.set("Content-Type", lfsType);
}
