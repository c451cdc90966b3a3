import Router from "@koa/router";
import type { Context, Middleware } from "koa";

import { invariant } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import { readParams } from "./input.ts";
import type { Route, RoutePath } from "./route.ts";
import { type Machinery, serve } from "./serve.ts";

/**
 * One middleware that answers every declared route, 405 with Allow for a known path and another
 * method, and 404 for the rest.
 */
export function mount(routes: readonly Route[], machinery: Machinery): Middleware {
  const router = new Router({ strict: true, sensitive: true });
  for (const { route, path } of inOrder(routes)) {
    router[route.method](routerPath(withoutSlash(path)), async (ctx, next) => {
      const params = readParams(route, ctx["params"]);
      // Not this operation's kind of id: another route may have the same shape.
      if (params === undefined) return await next();
      await serve(ctx, { route, params }, machinery);
    });
  }
  const answerRoute = router.routes() as unknown as Middleware;

  return async (ctx) => {
    ctx.path = withoutSlash(ctx.path);
    await answerRoute(ctx, async () => answerUnknown(ctx, router));
  };
}

/** Every route answers with and without a slash at the end. */
export function withoutSlash<Path extends string>(path: Path): Path {
  return (path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path) as Path;
}

function answerUnknown(ctx: Context, router: Router): void {
  const methods = new Set(
    router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods),
  );
  if (methods.size === 0 || methods.has(ctx.method)) {
    throw new Refusal("not_found", "route.not_found", "There is nothing at this path.");
  }
  ctx.set("Allow", [...methods, "OPTIONS"].sort().join(", "));
  if (ctx.method === "OPTIONS") {
    ctx.status = 204;
    return;
  }
  const message = `${ctx.method} is not a method of this path.`;
  throw new Refusal("not_allowed", "route.method_not_allowed", message);
}

type Placed = Readonly<{ route: Route; path: RoutePath }>;

/** Literal segments before parameters, whatever the order of declaration: the router takes the first. */
function inOrder(routes: readonly Route[]): readonly Placed[] {
  const placed = routes.flatMap((route) =>
    [route.path, ...(route.alsoAt ?? [])].map((path) => ({ route, path })),
  );
  refuseDuplicates(placed);
  return placed.sort((a, b) => compareSegments(a.path.split("/"), b.path.split("/")));
}

function refuseDuplicates(placed: readonly Placed[]): void {
  const seen = new Set<string>();
  for (const { route, path } of placed) {
    const name = `${route.method} ${path}`;
    invariant(!seen.has(name), `two routes at ${name}`);
    seen.add(name);
  }
  const operations = new Set(placed.map(({ route }) => route));
  const ids = new Set([...operations].map(({ operationId }) => operationId));
  invariant(ids.size === operations.size, "two routes have one operationId");
}

/** Also for paths of different lengths in both directions, or the sort would depend on where it begins. */
function compareSegments(left: readonly string[], right: readonly string[]): number {
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const order = vagueness(left[index] ?? "") - vagueness(right[index] ?? "");
    if (order !== 0) return order;
  }
  return 0;
}

/** How much a segment matches: a literal itself, a parameter with text around it some, one alone all. */
function vagueness(segment: string): number {
  if (!segment.includes("{")) return 0;
  return /^\{\w+\}$/.test(segment) ? 2 : 1;
}

/** `{name}` in the router's own notation, quoted because letters may follow: `{samlUuid}change-status`. */
export function routerPath(path: RoutePath): string {
  return path.replaceAll(/\{(\w+)\}/g, ':"$1"');
}
