import type { Context } from "koa";

import type { CookieChange, CookieName } from "./route.ts";

export type PageCookies = Readonly<{
  read: (ctx: Context, name: CookieName) => string | undefined;
  write: (ctx: Context, change: CookieChange) => void;
}>;

/**
 * Our cookies: for no script, for no request that another site makes but by a link. Over https their
 * names begin with `__Host-`, so that no neighbouring host and no unencrypted answer can set them.
 */
export function pageCookies(publicUrl: string): PageCookies {
  const secure = new URL(publicUrl).protocol === "https:";
  const nameOf = (name: CookieName) => `${secure ? "__Host-" : ""}ledgerforge-${name}`;
  return {
    read: (ctx, name) => {
      const value = ctx.cookies.get(nameOf(name), { signed: false });
      return value === "" ? undefined : value;
    },
    write(ctx, { name, value, seconds }) {
      // The connection to the proxy in front of us is not encrypted, the one to the browser is.
      ctx.cookies.secure = secure;
      ctx.cookies.set(nameOf(name), value ?? null, {
        path: "/",
        httpOnly: true,
        sameSite: "lax",
        secure,
        signed: false,
        overwrite: true,
        ...(seconds === undefined ? {} : { maxAge: seconds * 1_000 }),
      });
    },
  };
}
