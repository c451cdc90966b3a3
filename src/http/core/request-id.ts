import { randomUUID } from "node:crypto";
import type { Middleware } from "koa";

import { stateOf } from "./state.ts";

/** Nothing that could break a log line, a header or a file name. */
const wellFormed = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** A caller's `X-Request-Id` is kept when it is well-formed, so that a chain of services can be followed. */
export function requestId(): Middleware {
  return async (ctx, next) => {
    const header = ctx.get("x-request-id");
    const id = wellFormed.test(header) ? header : randomUUID();
    stateOf(ctx).requestId = id;
    ctx.set("X-Request-Id", id);
    await next();
  };
}
