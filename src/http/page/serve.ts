import { randomBytes, randomUUID } from "node:crypto";
import Router from "@koa/router";
import type { Context, Middleware } from "koa";

import { Scope } from "../../events/token/access-token.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { OpenSessionRow } from "../../projections/access/session.ts";
import type { ApiLimit } from "../access/api-limit.ts";
import { anonymous } from "../access/authenticate.ts";
import type { Caller } from "../access/gate.ts";
import { type FindSession, sessionFinder } from "../access/session.ts";
import { type Admitted, admission } from "../core/admission.ts";
import { bodyLimitsDefault, readForm } from "../core/body.ts";
import { routerPath, withoutSlash } from "../core/mount.ts";
import { peerOf } from "../core/peer.ts";
import { check, invalid } from "../core/schema.ts";
import { requestContext } from "../core/serve.ts";
import { stateOf } from "../core/state.ts";
import { type PageCookies, pageCookies } from "./cookie.ts";
import { csrfToken, mustComeFromHere, mustHoldCsrf } from "./csrf.ts";
import { wholePage } from "./layout.ts";
import { problemPage } from "./problem.ts";
import type { PageAnswer, PageDeps, PageRoute, Visit } from "./route.ts";

type Options = Readonly<{ deps: PageDeps; limit: ApiLimit }>;
type Machinery = Options &
  Readonly<{ cookies: PageCookies; findSession: FindSession; base: string }>;

/** Answers every declared page, and 405 for another method at its path; passes the rest on. */
export function servePages(pages: readonly PageRoute[], options: Options): Middleware {
  const { publicUrl } = options.deps;
  const base = new URL(publicUrl).pathname.replace(/\/$/, "");
  const cookies = pageCookies(publicUrl);
  const machinery = { ...options, cookies, base, findSession: sessionFinder(options.deps) };
  const router = new Router({ strict: true, sensitive: true });
  for (const route of pages) {
    router[route.method](routerPath(route.path), async (ctx, next) => {
      const params = route.params && check(route.params, ctx["params"]);
      // Not this page's kind of id: as good as no page.
      if (params?.ok === false) return await next();
      await servePage(ctx, route, params?.data, machinery);
    });
  }
  const answer = router.routes() as unknown as Middleware;
  const heads = new Set(pages.map((route) => headOf(route.path)));
  return async (ctx, next) => {
    if (!heads.has(headOf(ctx.path))) return await next();
    ctx.path = withoutSlash(ctx.path);
    const { path } = router.match(ctx.path, ctx.method);
    if (path.length === 0) return await next();
    stateOf(ctx).showProblem = (problem) => problemPage(problem, base);
    ctx.set({ "Referrer-Policy": "same-origin", "Content-Security-Policy": policy([]) });
    await answer(ctx, async () => refuse(ctx, new Set(path.flatMap(({ methods }) => methods))));
  };
}

/** No page's first segment is a parameter, so most requests are seen to be for none at a glance. */
const headOf = (path: string): string => path.split("/", 2)[1] ?? "";

function refuse(ctx: Context, methods: ReadonlySet<string>): never {
  if (methods.has(ctx.method)) {
    throw new Refusal("not_found", "route.not_found", "There is nothing at this path.");
  }
  ctx.set("Allow", [...methods].sort().join(", "));
  const message = `${ctx.method} is not a method of this page.`;
  throw new Refusal("not_allowed", "route.method_not_allowed", message);
}

/** No scripts at all. `form-action` bounds where forms end up, redirects after them included. */
const policy = (formTargets: readonly string[]): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self' data:",
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
  const { deps, cookies, findSession, limit } = machinery;
  stateOf(ctx).operationId = route.operationId;
  const cookie = cookies.read(ctx, "session");
  const session = cookie === undefined ? undefined : await findSession(cookie);
  const caller = session === undefined ? anonymous : callerOf(session);
  if (caller.userId !== null) stateOf(ctx).userId = caller.userId;
  await limit(ctx, caller, peerOf(ctx));
  if (route.access === "session" && session === undefined) {
    const back = route.method === "get" ? ctx.path + ctx.search : "/console";
    sendPage(
      ctx,
      { redirect: `/login?returnTo=${encodeURIComponent(back)}` },
      machinery,
      undefined,
    );
    return;
  }

  const seed = session === undefined ? visitorOf(ctx, cookies) : (cookie ?? "");
  const csrf = csrfToken(deps.vault, seed);
  const found: Admitted = { caller, resolved: undefined };
  const { admission: ask } = await admission(async (first) => {
    if (first === undefined || session === undefined) return found;
    if ((await findSession(cookie ?? "")) === undefined) throw sessionOver();
    return found;
  });
  const fields = route.method === "post" ? await fieldsOf(ctx, route, csrf, deps) : {};
  await ask();
  const made = { ...found, admission: ask, commandId: randomUUID(), immutable: {} };
  const visit: Visit = {
    ...requestContext(ctx, deps, made),
    session,
    csrf,
    cookie: (name) => cookies.read(ctx, name),
    here: ctx.path + ctx.search,
  };
  const answer = await route.handle({ params, ...inputOf(route, ctx, fields), visit }, deps);
  const person = session && { alias: session.alias, csrf };
  sendPage(ctx, answer, machinery, person);
}

function sessionOver(): Refusal {
  return new Refusal("forbidden", "auth.session_over", "The session is over. Sign in again.");
}

/** Finds the caller of a request outside of the pages by the session's cookie. */
export function sessionCaller(
  deps: Pick<PageDeps, "db" | "settings" | "now" | "publicUrl">,
): (ctx: Context) => Promise<Caller | undefined> {
  const cookies = pageCookies(deps.publicUrl);
  const findSession = sessionFinder(deps);
  return async (ctx) => {
    const cookie = cookies.read(ctx, "session");
    const session = cookie === undefined ? undefined : await findSession(cookie);
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
): Promise<unknown> {
  if (route.crossSite !== true) mustComeFromHere(ctx, publicUrl);
  if (route.ignoresBody === true) return {};
  const { json } = await readForm(ctx, bodyLimitsDefault);
  // A form reads as fields by name always.
  if (route.crossSite !== true) mustHoldCsrf(csrf, (json as Fields)["csrf"]);
  return json;
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
  ctx.status = answer.status ?? 200;
  ctx.body = wholePage({ title: answer.title, body: answer.body(base), base, person });
  ctx.set("Content-Type", "text/html; charset=utf-8");
  ctx.set("Content-Security-Policy", policy(answer.formTargets ?? []));
}
