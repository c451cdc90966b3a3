import type { Context } from "koa";
import { isSame } from "../../../platform/key/signed.ts";
import type { Vault } from "../../../platform/key/vault.ts";
import { Refusal } from "../../../platform/refusal.ts";

/**
 * The text that our forms carry and other sites cannot know: made from the cookie of the session, or
 * from that of the visitor before there is one. It changes at the login.
 */
export function csrfToken(vault: Vault, cookie: string): string {
  return vault.digest("csrf", cookie);
}

/** @throws Refusal 403 `form.expired` */
export function mustHoldCsrf(expected: string, sent: unknown): void {
  if (typeof sent === "string" && isSame(sent, expected)) return;
  const message = "This form is no longer good. Go back, load the page again and repeat it.";
  throw new Refusal("forbidden", "form.expired", message);
}

/**
 * A browser sends the cookies and passwords it remembers along with requests that another site
 * makes; those may change nothing.
 *
 * @throws Refusal 403 `request.cross_origin`
 */
export function mustComeFromHere(ctx: Context, publicUrl: string): void {
  if (ctx.method === "GET" || ctx.method === "HEAD") return;
  const site = ctx.get("sec-fetch-site");
  const origin = ctx.get("origin");
  const sameSite = site === "" || site === "same-origin" || site === "none";
  const sameOrigin =
    origin === "" ||
    (URL.canParse(origin) &&
      [ctx.get("host"), new URL(publicUrl).host].includes(new URL(origin).host));
  if (sameSite && sameOrigin) return;
  throw new Refusal("forbidden", "request.cross_origin", "The request comes from another site.");
}
