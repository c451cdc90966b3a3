import { randomBytes, randomUUID } from "node:crypto";
import Router from "@koa/router";
import type { Context, Middleware } from "koa";

import { Scope } from "../../../events/token/access-token.ts";
import { asCaller } from "../../../platform/caller.ts";
import { neighbourhoodOf } from "../../../platform/network.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { OpenSessionRow } from "../../../projections/access/session.ts";
import type { ApiLimit } from "../../access/api-limit.ts";
import { anonymous } from "../../access/authenticate.ts";
import type { Caller } from "../../access/gate.ts";
import { openSessions, type Sessions } from "../../access/session.ts";
import { type Admitted, admission } from "../../core/admission.ts";
import { type StreamReply, streamAnswer } from "../../core/answer.ts";
import { bodyLimitsDefault, readForm } from "../../core/body.ts";
import type { Idempotency } from "../../core/idempotency.ts";
import { routerPath, withoutSlash } from "../../core/mount.ts";
import type { OperationClientOptions, OperationClients } from "../../core/operation-client.ts";
import { clientSignal, peerOf } from "../../core/peer.ts";
import { check, invalid } from "../../core/schema.ts";
import { reportingTo, requestContext, transferLimits } from "../../core/serve.ts";
import { noteCaller, noteOperation, stateOf } from "../../core/state.ts";
import { watchConnection } from "../../core/stream.ts";
import { type PageCookies, pageCookies } from "./cookie.ts";
import { csrfToken, mustComeFromHere, mustHoldCsrf } from "./csrf.ts";
import { wholePage } from "./layout.ts";
import { onceSent } from "./once.ts";
import { problemPage } from "./problem.ts";
import type { CookieName, PageAnswer, PageDeps, PageRoute, Visit } from "./route.ts";

type Options = Readonly<{
  deps: PageDeps;
  limit: ApiLimit;
  operationClients: OperationClients;
  idempotency: Idempotency;
}>;
type Machinery = Options & Readonly<{ cookies: PageCookies; sessions: Sessions; base: string }>;

/** Answers every declared page, and 405 for another method at its path; passes the rest on. */
export function servePages(pages: readonly PageRoute[], options: Options): Middleware {
  const { publicUrl } = options.deps;
  const base = new URL(publicUrl).pathname.replace(/\/$/, "");
  const cookies = pageCookies(publicUrl);
  const machinery = { ...options, cookies, base, sessions: openSessions(options.deps) };
  const own = pages.filter(({ besides }) => besides !== true);
  const ownRouter = routerOf(own, machinery);
  const besideRouter = routerOf(
    pages.filter(({ besides }) => besides === true),
    machinery,
  );
  const answer = ownRouter.routes() as unknown as Middleware;
  const answerBeside = besideRouter.routes() as unknown as Middleware;
  const heads = new Set(own.map((route) => headOf(route.path)));
  return async (ctx, next) => {
    if (wantsPage(ctx) && besideRouter.match(ctx.path, ctx.method).route) {
      return await answerBeside(ctx, async () => {
        // What no page answers goes on as it came.
        delete ctx["params"];
        await next();
      });
    }
    if (!heads.has(headOf(ctx.path))) return await next();
    const { path } = ownRouter.match(ctx.path, ctx.method);
    if (path.length === 0) return await next();
    await answer(ctx, async () => {
      begin(ctx, base);
      refuse(ctx, new Set(path.flatMap(({ methods }) => methods)));
    });
  };
}

function begin(ctx: Context, base: string): void {
  stateOf(ctx).showProblem = (problem) => problemPage(problem, base);
  ctx.set({ "Referrer-Policy": "same-origin", "Content-Security-Policy": policy({}) });
}

function routerOf(pages: readonly PageRoute[], machinery: Machinery): Router {
  // Not strict: a page answers with and without a slash at the end.
  const router = new Router({ strict: false, sensitive: true });
  const literalFirst = [...pages].sort((a, b) => vaguenessOf(a) - vaguenessOf(b));
  for (const route of literalFirst) {
    router[route.method](routerPath(route.path), async (ctx, next) => {
      const params = route.params && check(route.params, ctx["params"]);
      // Not this page's kind of id: as good as no page.
      if (params?.ok === false) return await next();
      ctx.path = withoutSlash(ctx.path);
      begin(ctx, machinery.base);
      await servePage(ctx, route, params?.data, machinery);
    });
  }
  return router;
}

const vaguenessOf = ({ path }: PageRoute): number => path.split("{").length;

/** A browser that opens an address names text/html before all else; who shows a token is a program. */
function wantsPage(ctx: Context): boolean {
  const reads = ctx.method === "GET" || ctx.method === "HEAD";
  if (!reads || ctx.get("authorization") !== "") return false;
  return ctx.get("accept").includes("text/html") && ctx.accepts("json", "html") === "html";
}

/** No own page's first segment is a parameter, so most requests are seen to be for none at a glance. */
const headOf = (path: string): string => path.split("/", 2)[1] ?? "";

function refuse(ctx: Context, methods: ReadonlySet<string>): never {
  if (methods.has(ctx.method)) {
    throw new Refusal("not_found", "route.not_found", "There is nothing at this path.");
  }
  ctx.set("Allow", [...methods].sort().join(", "));
  const message = `${ctx.method} is not a method of this page.`;
  throw new Refusal("not_allowed", "route.method_not_allowed", message);
}

type Allowed = Readonly<{ formTargets?: readonly string[]; scripts?: readonly string[] }>;

/**
 * No script but a page's own files. `form-action` bounds where forms end up, redirects after them
 * included.
 */
const policy = ({ formTargets = [], scripts = [] }: Allowed): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self' data:",
    ...(scripts.length > 0 ? ["script-src 'self'", "connect-src 'self'"] : []),
    `form-action ${["'self'", ...formTargets].join(" ")}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

/** One request at one page: who comes, whether they may, from our form or not, parse, handle, show. */
async function servePage(
  ctx: Context,
  route: PageRoute,
  params: unknown,
  machinery: Machinery,
): Promise<void> {
  const { deps, cookies, sessions, limit, base } = machinery;
  noteOperation(ctx, route.operationId);
  const cookie = cookies.read(ctx, "session");
  const session = cookie === undefined ? undefined : await sessions.use(cookie);
  const caller = session === undefined ? anonymous : callerOf(session);
  noteCaller(ctx, caller.userId);
  await limit(ctx, caller, peerOf(ctx));
  if (route.access === "session" && session === undefined) {
    sendPage(ctx, toLogin(ctx, route), machinery, undefined);
    return;
  }

  const seed = session === undefined ? visitorOf(ctx, cookies) : (cookie ?? "");
  const csrf = csrfToken(deps.vault, seed);
  const person = session && { alias: session.alias, csrf };
  stateOf(ctx).showProblem = (problem) => problemPage(problem, machinery.base, { person });
  const found: Admitted = { caller, resolved: undefined };
  const recheckCaller = async (): Promise<Admitted> => {
    if (session === undefined) return found;
    if ((await sessions.find(cookie ?? "")) === undefined) throw sessionOver();
    return found;
  };
  const { admission: recheck } = await admission(async (first) =>
    first === undefined ? found : await recheckCaller(),
  );
  const fields = route.method === "post" ? await fieldsOf(ctx, route, csrf, deps) : {};
  await recheck();
  const context = { ...found, admission: recheck, commandId: randomUUID(), immutable: {} };
  // Not spread: spreading would evaluate the lazy properties of the context each time.
  const given = { params, ...inputOf(route, ctx, fields) };
  const known = { session, csrf, cookie: (name: CookieName) => cookies.read(ctx, name) };
  const { anonymousWhen } = route;
  const share = caller.userId ?? neighbourhoodOf(peerOf(ctx));
  const run = (command?: OperationClientOptions["command"]): Promise<PageAnswer> => {
    const operations = machinery.operationClients({
      ctx,
      caller,
      recheckCaller,
      anonymousWhen,
      command,
    });
    const here = { here: ctx.path + ctx.search, operations: operations };
    const reportingDeps = command === undefined ? deps : reportingTo(deps, command.progress);
    const under = { ...context, commandId: command?.id ?? context.commandId };
    const visit: Visit = Object.assign(requestContext(ctx, reportingDeps, under), known, here);
    const handle = () => route.handle({ ...given, visit }, reportingDeps);
    return asCaller(share, handle, command === undefined ? clientSignal(ctx) : undefined);
  };
  const { userId } = caller;
  const answer = await orLogin(ctx, route, session, () =>
    userId === null || route.onlyShows
      ? run()
      : onceSent({ ctx, route, fields, userId, base }, machinery.idempotency, run),
  );
  sendPage(ctx, answer, machinery, person);
}

function toLogin(ctx: Context, { method }: PageRoute): PageAnswer {
  const back = method === "get" ? ctx.path + ctx.search : "/console";
  return { redirect: `/login?returnTo=${encodeURIComponent(back)}` };
}

/** The operations of a page may need an account, which a visitor who is not logged in may have. */
async function orLogin(
  ctx: Context,
  route: PageRoute,
  session: OpenSessionRow | undefined,
  run: () => Promise<PageAnswer>,
): Promise<PageAnswer> {
  try {
    return await run();
  } catch (error) {
    const needsAccount = error instanceof Refusal && error.code === "auth.token_invalid";
    if (session !== undefined || !needsAccount) throw error;
    return toLogin(ctx, route);
  }
}

function sessionOver(): Refusal {
  return new Refusal("forbidden", "auth.session_over", "The session is over. Sign in again.");
}

/** Finds the caller of a request outside of the pages by the session's cookie. */
export function sessionCaller(
  deps: Pick<PageDeps, "db" | "settings" | "now" | "publicUrl">,
): (ctx: Context) => Promise<Caller | undefined> {
  const cookies = pageCookies(deps.publicUrl);
  const sessions = openSessions(deps);
  return async (ctx) => {
    const cookie = cookies.read(ctx, "session");
    const session = cookie === undefined ? undefined : await sessions.use(cookie);
    return session && callerOf(session);
  };
}

function callerOf({ id, user_id, alias, is_admin }: OpenSessionRow): Caller {
  return {
    actor: { userId: user_id, alias, via: "session", tokenId: id },
    userId: user_id,
    isAdmin: is_admin,
    scopes: new Set(Scope.options),
  };
}

/** Who has no session has a cookie of their own all the same: our forms are tied to it. */
function visitorOf(ctx: Context, cookies: PageCookies): string {
  const known = cookies.read(ctx, "visitor");
  if (known !== undefined) return known;
  const value = randomBytes(32).toString("base64url");
  cookies.write(ctx, { name: "visitor", value });
  return value;
}

type Fields = Readonly<Record<string, unknown>>;

async function fieldsOf(
  ctx: Context,
  route: PageRoute,
  csrf: string,
  { publicUrl }: PageDeps,
): Promise<Fields> {
  if (route.crossSite !== true) mustComeFromHere(ctx, publicUrl);
  if (route.ignoresBody === true) return {};
  const { json } = await readForm(ctx, bodyLimitsDefault);
  // A form reads as fields by name always.
  if (route.crossSite !== true) mustHoldCsrf(csrf, (json as Fields)["csrf"]);
  return json as Fields;
}

/** @throws Refusal 422 that lists every mistake in query and form */
function inputOf(route: PageRoute, ctx: Context, fields: unknown) {
  const query = route.query && check(route.query, ctx.query);
  const form = route.form && check(route.form, fields);
  const errors = [query, form].flatMap((one) => (one?.ok === false ? one.errors : []));
  if (errors.length > 0) throw invalid(errors);
  return { query: query?.ok ? query.data : undefined, form: form?.ok ? form.data : undefined };
}

function sendPage(
  ctx: Context,
  answer: PageAnswer,
  { base, cookies }: Machinery,
  person: Readonly<{ alias: string; csrf: string }> | undefined,
): void {
  for (const change of answer.cookies ?? []) cookies.write(ctx, change);
  ctx.set("Cache-Control", "no-store");
  if ("redirect" in answer) {
    const { redirect } = answer;
    ctx.status = 303;
    ctx.set("Location", redirect.startsWith("/") ? base + redirect : redirect);
    ctx.body = "";
    ctx.remove("Content-Type");
    return;
  }
  if ("document" in answer) {
    ctx.body = answer.document;
    ctx.set("Content-Type", answer.type);
    if (answer.cache) ctx.set("Cache-Control", "public, max-age=300");
    return;
  }
  ctx.vary("Accept");
  if ("stream" in answer) {
    sendStream(ctx, answer.stream);
    return;
  }
  const { title, wide, scripts, lead, status = 200 } = answer;
  ctx.status = status;
  const parts = { title, wide, scripts, lead: lead?.(base), body: answer.body(base) };
  ctx.body = wholePage({ ...parts, base, person });
  ctx.set("Content-Type", "text/html; charset=utf-8");
  ctx.set("Content-Security-Policy", policy(answer));
}

/** A file of a user: nothing in it runs, and nothing of it is taken for a page of ours. */
const sandbox = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

function sendStream(ctx: Context, reply: StreamReply): void {
  // No ETag: a client that sends it back would receive 304.
  const { etag: _, ...rest } = reply;
  const { status, headers, body } = streamAnswer(200, rest);
  // A reader that stalls holds a process, or a file, for as long.
  watchConnection(ctx, transferLimits);
  ctx.status = status;
  ctx.body = body;
  ctx.remove("Content-Type");
  ctx.set({ ...headers, "Content-Security-Policy": sandbox, "Cache-Control": "private, no-cache" });
}
