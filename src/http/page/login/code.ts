import { z } from "zod";

import { Refusal } from "../../../platform/refusal.ts";
import { findUserById } from "../../../projections/user/user.ts";
import { markOf, readTicket, type Ticket } from "../../access/login-ticket.ts";
import { codePath, openSession } from "../../access/session.ts";
import { html } from "../core/html.ts";
import { csrfField, notice } from "../core/layout.ts";
import { type PageAnswer, type PageDeps, type PageRoute, page, type Visit } from "../core/route.ts";

const show = page({
  method: "get",
  path: codePath,
  operationId: "showLoginCode",
  access: "anonymous",
  async handle({ visit }, deps) {
    return ticketOf(visit, deps) === undefined ? startAgain : codeForm(visit);
  },
});

const submit = page({
  method: "post",
  path: codePath,
  operationId: "logInWithCode",
  access: "anonymous",
  form: z.object({ code: z.string().max(64) }),
  async handle({ form, visit }, deps) {
    const ticket = ticketOf(visit, deps);
    const user = ticket && (await findUserById(deps.db, ticket.userId));
    if (ticket === undefined || user === undefined) return startAgain;
    const { ip, requestId } = visit;
    try {
      await deps.secondFactor.verify({ user, code: form.code, ip, requestId });
    } catch (error) {
      if (error instanceof Refusal && error.kind === "forbidden") {
        return codeForm(visit, error.message);
      }
      throw error;
    }
    const { userId, via, returnTo } = ticket;
    const stillTrue = (now: typeof user) => markOf(deps.vault, now) === ticket.passwordMark;
    const answer = await openSession(visit, { userId, via, returnTo, stillTrue }, deps);
    return { ...answer, cookies: [...(answer.cookies ?? []), { name: "login" }] };
  },
});

export const loginCodePages: readonly PageRoute[] = [show, submit];

const startAgain: PageAnswer = { redirect: "/login", cookies: [{ name: "login" }] };

function ticketOf(visit: Visit, { vault, now }: PageDeps): Ticket | undefined {
  const cookie = visit.cookie("login");
  return cookie === undefined ? undefined : readTicket(vault, cookie, now());
}

function codeForm(visit: Visit, wrong?: string): PageAnswer {
  return {
    title: "Second factor",
    status: wrong === undefined ? 200 : 403,
    body: (base) => html`<div class="narrow">
${notice(wrong)}
<form class="card" method="post" action="${base}${codePath}">
${csrfField(visit.csrf)}
<div class="field"><label for="code">Code</label>
<input type="text" id="code" name="code" autocomplete="one-time-code" autocapitalize="characters"
 spellcheck="false" maxlength="64" aria-describedby="code-hint" required autofocus>
<p class="hint" id="code-hint">Six digits of your authenticator app, or one of your recovery codes.</p></div>
<button class="wide">Log in</button>
</form>
</div>`,
  };
}
