import type { IncomingMessage, RequestListener } from "node:http";
import Koa, { type Middleware } from "koa";

import { bindOperation, mustNotBeSuspended } from "../../platform/event-loop/operation.ts";
import { neighbourhoodOf, peerAddress } from "../../platform/network.ts";
import { type Answered, accessLog } from "./access-log.ts";
import { refuseManyParameters } from "./body.ts";
import { errors } from "./errors.ts";
import { storableAddresses } from "./input.ts";
import { mount } from "./mount.ts";
import { closeWithLine } from "./pipelined-close.ts";
import { requestId } from "./request-id.ts";
import type { Route } from "./route.ts";
import { securityHeaders } from "./security-headers.ts";
import type { Machinery } from "./serve.ts";
import { dropUnreadBody, type LingerLimits } from "./unread-body.ts";

export type AppOptions = Machinery &
  Readonly<{
    routes: readonly Route[];
    /**
     * What answers outside the declared routes (git smart HTTP, the queue dashboard, health), in
     * front of them. Each calls `next` for requests that are not its own.
     */
    before?: readonly Middleware[];
    /** Sees a request before all else: what it takes out of it is in no log. */
    arrive?: (request: IncomingMessage) => void;
    observe?: (answered: Answered) => void;
    linger?: LingerLimits;
  }>;

export function buildApp(options: AppOptions): RequestListener {
  const { deps, routes, before = [], observe = () => undefined, arrive } = options;
  const app = new Koa({ proxy: false });
  // An error of a connection after its answer began; everything else is answered by errors().
  app.on("error", (error) => deps.log.debug({ err: error }, "connection broke"));
  app.use(requestId());
  app.use(accessLog(deps.log, observe));
  app.use(securityHeaders(deps.publicUrl));
  app.use(dropUnreadBody(options.linger));
  app.use(errors(deps.log));
  app.use(refuseSuspended());
  app.use(refuseLongQueries());
  app.use(storableAddresses(app));
  app.use(bothBases());
  for (const middleware of before) app.use(middleware);
  app.use(mount(routes, options));

  const answer = app.callback();
  return (request, response) => {
    arrive?.(request);
    closeWithLine(request, response);
    const caller = `${neighbourhoodOf(peerAddress(request.socket))} before authentication`;
    const isOver = () => response.closed;
    bindOperation({ name: "http", caller, emitter: request, isOver }, () => {
      void answer(request, response);
    });
  };
}

/** Requests are distinguished once their route and caller are known; before, those of a network are one operation. */
function refuseSuspended(): Middleware {
  return async (_ctx, next) => {
    mustNotBeSuspended();
    await next();
  };
}

/** Before anything looks into the query. */
function refuseLongQueries(): Middleware {
  return async (ctx, next) => {
    refuseManyParameters(ctx.querystring);
    await next();
  };
}

const prefix = "/rest-api";

/** Everything answers at `/…` and at `/rest-api/…`, which clients in the field put in front. */
function bothBases(): Middleware {
  return async (ctx, next) => {
    if (ctx.path.startsWith(`${prefix}/`)) ctx.path = ctx.path.slice(prefix.length);
    await next();
  };
}
