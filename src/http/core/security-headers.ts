import type { Middleware } from "koa";

/**
 * What an API answer may do in a browser: nothing. Pages of our own loosen the policy for themselves.
 * Sandbox keeps an uploaded file that is opened directly from running as this origin.
 */
const headers = {
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
} as const;

export function securityHeaders(publicUrl: string): Middleware {
  const https = new URL(publicUrl).protocol === "https:";
  return async (ctx, next) => {
    ctx.set(headers);
    if (https) ctx.set("Strict-Transport-Security", "max-age=31536000");
    await next();
  };
}
