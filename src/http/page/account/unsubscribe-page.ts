import { z } from "zod";

import { readUnsubscribeToken } from "../../../commands/user/notification-preference.ts";
import type { UserId } from "../../../events/core/ids.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { unsubscribePath } from "../../../services/user/notification-text.ts";
import { setNotificationMail } from "../../api/user/notification.ts";
import type { Deps } from "../../core/deps.ts";
import { html } from "../core/html.ts";
import { notice } from "../core/layout.ts";
import { type PageRoute, page } from "../core/route.ts";

/** The page that the link in a notification leads to. Opening it changes nothing; its button does. */

const Query = z.object({ token: z.string().max(200).catch("") });

const showUnsubscribe = page({
  method: "get",
  path: unsubscribePath,
  operationId: "showUnsubscribe",
  access: "anonymous",
  query: Query,
  async handle({ query: { token } }, deps) {
    mustBeValid(token, deps);
    return {
      title: "Stop notifications",
      body: (base) => html`<div class="narrow"><div class="card">
<p>Mails about assignments and mentions will no longer be sent to you.</p>
<form method="post" action="${base}${unsubscribePath}?token=${encodeURIComponent(token)}">
<button class="wide">Stop these mails</button>
</form>
</div></div>`,
    };
  },
});

/** Also the one-click POST of mail programs (RFC 8058): the token authenticates the user. */
const submitUnsubscribe = page({
  method: "post",
  path: unsubscribePath,
  operationId: "unsubscribe",
  access: "anonymous",
  crossSite: true,
  ignoresBody: true,
  query: Query,
  async handle({ query: { token }, visit }, deps) {
    await setNotificationMail(mustBeValid(token, deps), false, visit, deps);
    return {
      title: "Notifications stopped",
      body: () =>
        html`<div class="narrow">${notice(
          "Mails about assignments and mentions are no longer sent to you.",
          "done",
        )}</div>`,
    };
  },
});

export const unsubscribePages: readonly PageRoute[] = [showUnsubscribe, submitUnsubscribe];

/** @throws Refusal 422 `link.invalid` */
function mustBeValid(token: string, { vault }: Pick<Deps, "vault">): UserId {
  const userId = readUnsubscribeToken(vault, token);
  if (userId !== undefined) return userId;
  throw new Refusal("unprocessable", "link.invalid", "This link is not valid.");
}
