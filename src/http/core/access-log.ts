import type { Middleware } from "koa";
import type { Logger } from "pino";

import { whenClosed } from "./peer.ts";
import { stateOf } from "./state.ts";

export type Answered = Readonly<{
  method: string;
  operationId: string | undefined;
  status: number;
  code: string | undefined;
  durationMs: number;
}>;

/**
 * One line a request, once its answer is out or the client is gone. Neither query nor headers nor bodies are
 * written: tokens and personal data travel in them.
 */
export function accessLog(log: Logger, observe: (answered: Answered) => void): Middleware {
  return async (ctx, next) => {
    const start = performance.now();
    const { method = "", url = "", socket } = ctx.req;
    const ip = socket.remoteAddress;
    whenClosed(ctx.res, () => {
      const { requestId, operationId, userId, code } = stateOf(ctx);
      const durationMs = Math.round((performance.now() - start) * 10) / 10;
      const status = ctx.res.statusCode;
      const aborted = ctx.res.writableFinished ? undefined : true;
      observe({ method, operationId, status, code, durationMs });
      if (!log.isLevelEnabled("info")) return;
      const path = url.split("?", 1)[0];
      const line = { requestId, method, path, operationId, status, code, durationMs, userId, ip };
      log.info({ ...line, aborted }, "request");
    });
    await next();
  };
}
