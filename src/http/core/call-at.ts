import type { Context } from "koa";

import { HttpRefusal } from "./errors.ts";

/** A method and the form of the paths below a base that it answers. */
type Callable = Readonly<{ method: string; path: RegExp }>;

/**
 * The call that a request means, with what its path names.
 *
 * @param method that the request means, see `readMethod`; where it is given, HEAD is answered wherever GET is
 * @param nothingHere made when no call has such a path
 * @throws HttpRefusal 405 when the path takes other methods; what `nothingHere` makes
 */
export function callAt<Call extends Callable>(
  ctx: Context,
  calls: readonly Call[],
  { path, method: meant }: Readonly<{ path: string; method?: string }>,
  nothingHere: () => Error,
) {
  const takesHead = meant !== undefined;
  const method = meant ?? ctx.method;
  const fitting = calls.flatMap((call) => {
    const match = call.path.exec(path);
    return match === null ? [] : [{ call, params: match.groups ?? {} }];
  });
  const found = fitting.find(({ call }) => call.method === method);
  if (found !== undefined) return found;
  if (fitting.length === 0) throw nothingHere();
  const methods = new Set(fitting.map(({ call }) => call.method));
  if (takesHead && methods.has("GET")) methods.add("HEAD");
  const allow = [...methods].join(", ");
  const message = `${ctx.method} is not a method of this path.`;
  throw new HttpRefusal(405, "route.method_not_allowed", message, { Allow: allow });
}

/** What a request means where HEAD is answered as GET is, without the body. */
export const readMethod = ({ method }: Pick<Context, "method">): string =>
  method === "HEAD" ? "GET" : method;
