import type { IncomingMessage, ServerResponse } from "node:http";
import type { Middleware } from "koa";
import type { Logger } from "pino";
import { whenClosed } from "./peer.ts";
import { type RequestState, stateOf } from "./state.ts";

export type Answered = Readonly<{
  method: string;
  operationId: string | undefined;
  status: number;
  code: string | undefined;
  durationMs: number;
}>;

/** Logs a request when its answer is out or the client is gone; `state` may fill up until then. */
export type WatchRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  state: RequestState,
) => void;

/**
 * One line a request. Neither query nor headers nor bodies are written: tokens and personal data
 * travel in them.
 */
export function watchRequests(log: Logger, observe: (answered: Answered) => void): WatchRequest {
  return (request, response, state) => {
    const start = performance.now();
    const { method = "", url = "" } = request;
    const ip = request.socket.remoteAddress;
    whenClosed(response, () => {
      const { requestId, operationId, userId, code } = state;
      const durationMs = Math.round((performance.now() - start) * 10) / 10;
      const status = response.statusCode;
      const aborted = response.writableFinished ? undefined : true;
      observe({ method, operationId, status, code, durationMs });
      if (!log.isLevelEnabled("info")) return;
      const path = url.split("?", 1)[0];
      const line = { requestId, method, path, operationId, status, code, durationMs, userId, ip };
      log.info({ ...line, aborted }, "request");
    });
  };
}

export function accessLog(watch: WatchRequest): Middleware {
  return async (ctx, next) => {
    watch(ctx.req, ctx.res, stateOf(ctx));
    await next();
  };
}
