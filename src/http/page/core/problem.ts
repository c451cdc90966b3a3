import type { Context, Middleware } from "koa";
import type { Problem } from "../../core/problem.ts";
import { stateOf } from "../../core/state.ts";
import { html } from "./html.ts";
import { type Shell, wholePage } from "./layout.ts";

/** No scripts; the stylesheet and the icon are ours. */
const policy = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * Shows refusals as a page to a browser that opens an address: it sends `Accept: text/html`, which programs
 * do not. A request with a token comes from a program.
 */
export function problemPages(publicUrl: string): Middleware {
  const base = new URL(publicUrl).pathname.replace(/\/$/, "");
  return async (ctx, next) => {
    if (opensAddress(ctx)) {
      stateOf(ctx).showProblem = (problem) => {
        ctx.set("Content-Security-Policy", policy);
        return problemPage(problem, base, { isRest: true });
      };
    }
    await next();
  };
}

function opensAddress(ctx: Context): boolean {
  const reads = ctx.method === "GET" || ctx.method === "HEAD";
  return reads && ctx.get("authorization") === "" && /\btext\/html\b/.test(ctx.get("accept"));
}

/** For those whose name in HTTP says little to a person. */
const plainTitles: Readonly<Record<number, string>> = {
  403: "Not allowed",
  404: "Not found",
  409: "Not possible now",
  422: "Not possible",
  500: "Something went wrong",
  503: "Not available now",
};

/** `isRest`: there is no page at the address, only an operation of the REST interface. */
export function problemPage(
  { title, message, status }: Problem,
  base: string,
  { isRest = false, person }: Readonly<{ isRest?: boolean; person?: Shell["person"] }> = {},
): string {
  const restOnly = isRest && status === 403;
  const body = html`<p class="notice error" role="alert">${message}</p>
${restOnly && html`<p>This address belongs to the REST interface, which takes a token.</p>`}
<p class="actions"><a class="button quiet" href="${base}/project/my">My projects</a> <a class="button quiet" href="${base}/console">Console</a></p>`;
  return wholePage({ title: plainTitles[status] ?? title, base, body, person });
}
