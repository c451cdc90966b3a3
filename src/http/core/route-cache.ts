import type { Context } from "koa";

import { BoundedCache } from "../../platform/bounded-cache.ts";
import type { Input } from "./input.ts";
import type { Route } from "./route.ts";

/** The operation and query that the method and URL of a request name. */
export type MatchedRoute = Readonly<{ route: Route; params: Readonly<Record<string, unknown>> }> & {
  /** Set once it was read and found good; of a GET, which has no body, by its URL alone. */
  input?: Input;
};

export type RouteCache = Readonly<{
  find: (ctx: Context) => MatchedRoute | undefined;
  note: (ctx: Context, matched: MatchedRoute) => MatchedRoute;
}>;

const bytesMax = 8 * 1024 ** 2;
const urlLengthMax = 1_024;
/** What parsed parameters take beside the text they came from, about. */
const bytesBeside = 1_024;

/**
 * The operation that a URL names and the parameters in its query are the same for every caller: for the
 * most recently used URLs of GETs they are kept instead of parsed again.
 */
export function routeCache(): RouteCache {
  const known = new BoundedCache<MatchedRoute>(bytesMax);
  const fits = ({ method, url }: Context): boolean =>
    method === "GET" && url.length <= urlLengthMax;
  return {
    find: (ctx) => (fits(ctx) ? known.get(ctx.url) : undefined),
    note(ctx, matched) {
      // Shared by requests from now on.
      Object.freeze(matched.params);
      if (fits(ctx) && matched.route.body === undefined)
        known.set(ctx.url, matched, 2 * ctx.url.length + bytesBeside);
      return matched;
    },
  };
}
