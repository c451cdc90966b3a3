import type { Context, Middleware } from "koa";

import type { Queues } from "../../../platform/queue/queue.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { Authenticate } from "../../access/authenticate.ts";
import { type Caller, requireScope } from "../../access/gate.ts";
import { HttpRefusal } from "../../core/errors.ts";
import { mustComeFromHere } from "../core/csrf.ts";

const path = "/admin/queues";

/** A page of our own, so its policy is looser than an answer's: it runs its own scripts only. */
const policy = [
  "default-src 'self'",
  "img-src 'self' data:",
  "style-src 'self' 'unsafe-inline'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export type QueueDashboardOptions = Readonly<{
  authenticate: Authenticate;
  queues: Queues;
  queueNames: () => Promise<readonly string[]>;
  publicUrl: string;
  /** The caller whose console session the request carries. */
  session: (ctx: Context) => Promise<Caller | undefined>;
}>;

/**
 * BullMQ's dashboard at `/admin/queues`, for administrators: by their console session, by a token, or
 * by name and password (or token) in the browser's own dialog. Jobs hold ids only, so it shows no secrets.
 */
export function queueDashboard(options: QueueDashboardOptions): Middleware {
  let board: Promise<Middleware> | undefined;
  return async (ctx, next) => {
    if (ctx.path !== path && !ctx.path.startsWith(`${path}/`)) return await next();
    const caller = await callerOf(ctx, options);
    requireScope(caller, "USER_WRITE");
    if (!caller.isAdmin) {
      throw new Refusal("forbidden", "auth.admin_required", "Only administrators may do this.");
    }
    mustComeFromHere(ctx, options.publicUrl);
    // Loaded at the first request: it is a large part of all code.
    board ??= makeBoard(options);
    const show = await board;
    ctx.set("Content-Security-Policy", policy);
    ctx.set("Cache-Control", "no-store");
    await show(ctx, next);
  };
}

/** @throws HttpRefusal 401 that makes a browser ask for a password; Refusal 403 for a token that is not good */
async function callerOf(
  ctx: Context,
  { authenticate, session }: QueueDashboardOptions,
): Promise<Caller> {
  const header = ctx.get("authorization");
  if (/^(?:token|bearer) /i.test(header)) return await authenticate.caller(ctx, "admin");
  const visitor = header === "" ? await session(ctx) : undefined;
  if (visitor !== undefined) return visitor;
  const caller = await authenticate.client(ctx);
  if (caller !== null && caller.userId !== null) return caller;
  throw new HttpRefusal(401, "auth.required", "Log in as an administrator.", {
    "WWW-Authenticate": 'Basic realm="queues", charset="UTF-8"',
  });
}

async function makeBoard({ queues, queueNames }: QueueDashboardOptions): Promise<Middleware> {
  const [names, { createBullBoard }, { BullMQAdapter }, { KoaAdapter }] = await Promise.all([
    queueNames(),
    import("@bull-board/api"),
    import("@bull-board/api/bullMQAdapter"),
    import("@bull-board/koa"),
  ]);
  const serverAdapter = new KoaAdapter().setBasePath(path);
  createBullBoard({
    queues: names.map((name) => new BullMQAdapter(queues.queue(name))),
    serverAdapter,
    options: { uiConfig: { boardTitle: "Ledgerforge", hideRedisDetails: true } },
  });
  return serverAdapter.registerPlugin() as unknown as Middleware;
}
