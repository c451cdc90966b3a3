import { z } from "zod";

import { otpSquares } from "../../../platform/identity/otp.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { disable, enable, prepare, renew, statusOf } from "../../api/user/two-factor.ts";
import { type Html, html } from "../core/html.ts";
import { notice } from "../core/layout.ts";
import { formStart } from "../core/once.ts";
import { qrCode } from "../core/qr-code.ts";
import {
  type LoggedIn,
  type PageAnswer,
  type PageDeps,
  type PageRoute,
  page,
} from "../core/route.ts";

const path = "/console/two-factor";
const common = { method: "post", access: "session" } as const;
const Code = z.object({ code: z.string().max(64) });

const show = page({
  method: "get",
  path,
  operationId: "showTwoFactor",
  access: "session",
  handle: ({ visit }, deps) => statusPage(visit, deps),
});

const begin = page({
  ...common,
  path: `${path}/prepare`,
  operationId: "prepareTwoFactorInConsole",
  form: z.object({ password: z.string().max(512).default("") }),
  handle: ({ form, visit }, deps) =>
    telling(visit, deps, async () => {
      const prepared = await prepare(form.password, visit, deps);
      return secretPage(visit, prepared, await otpSquares(prepared.otpauthUrl));
    }),
});

const finish = page({
  ...common,
  path: `${path}/enable`,
  operationId: "enableTwoFactorInConsole",
  form: Code,
  handle: ({ form, visit }, deps) =>
    telling(visit, deps, async () => codesPage(await enable(form.code, visit, deps))),
});

const again = page({
  ...common,
  path: `${path}/recovery-code`,
  operationId: "renewRecoveryCodesInConsole",
  form: Code,
  handle: ({ form, visit }, deps) =>
    telling(visit, deps, async () => codesPage(await renew(form.code, visit, deps))),
});

const end = page({
  ...common,
  path: `${path}/disable`,
  operationId: "disableTwoFactorInConsole",
  form: Code,
  handle: ({ form, visit }, deps) =>
    telling(visit, deps, async () => {
      await disable(form.code, visit, deps);
      return { redirect: path };
    }),
});

export const twoFactorPages: readonly PageRoute[] = [show, begin, finish, again, end];

/** What was wrong is said where it can be tried again. */
async function telling(
  visit: LoggedIn,
  deps: PageDeps,
  run: () => Promise<PageAnswer>,
): Promise<PageAnswer> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
    return await statusPage(visit, deps, error.message);
  }
}

async function statusPage(visit: LoggedIn, deps: PageDeps, wrong?: string): Promise<PageAnswer> {
  const { enabled, available, recoveryCodesLeft } = await statusOf(visit.userId, deps);
  return {
    title: "Two-factor login",
    status: wrong === undefined ? 200 : 422,
    body: (base) => html`${notice(wrong)}
${!available && html`<section><p>Two-factor login is switched off on this instance${enabled && "; yours is kept until it is on again"}.</p></section>`}
${available && !enabled && beginSection(base, visit)}
${enabled && onSection(base, visit, recoveryCodesLeft)}
<p><a href="${base}/console">Back to the console</a></p>`,
  };
}

function beginSection(base: string, visit: LoggedIn): Html {
  return html`<section><p>With a second factor, logging in takes a code of your phone beside the password,
and git takes access tokens alone.</p>
<form method="post" action="${base}${path}/prepare">${formStart(visit)}
<div class="field"><label for="password">Your password</label>
<input type="password" id="password" name="password" autocomplete="current-password"></div>
<button>Set it up</button></form></section>`;
}

function onSection(base: string, visit: LoggedIn, left: number): Html {
  return html`<section><p>Two-factor login is <strong>on</strong>. Recovery codes left: ${left}.</p>
${codeForm(base, visit, "recovery-code", "Make new recovery codes")}</section>
<section>${codeForm(base, visit, "disable", "Switch it off")}</section>`;
}

function secretPage(
  visit: LoggedIn,
  { secret, otpauthUrl }: Awaited<ReturnType<typeof prepare>>,
  squares: Awaited<ReturnType<typeof otpSquares>>,
): PageAnswer {
  return {
    title: "Set up two-factor login",
    body: (
      base,
    ) => html`<section><p>Let your authenticator app read this code, or add the secret below it
(or <a href="${otpauthUrl}">open it there</a>), then type the code it shows.</p>
${qrCode(squares, "The secret as a QR code")}
<code class="secret">${secret}</code></section>
<section>${codeForm(base, visit, "enable", "Switch it on")}</section>`,
  };
}

function codesPage({ recoveryCodes }: Readonly<{ recoveryCodes: readonly string[] }>): PageAnswer {
  return {
    title: "Recovery codes",
    body: (base) => html`${notice("Two-factor login is on.", "done")}
<section><p>Each of these logs you in once if you lose your device. Keep them somewhere else; they are not
shown again.</p><ul>${recoveryCodes.map((code) => html`<li><code>${code}</code></li>`)}</ul></section>
<p><a class="button" href="${base}/console">I have kept them</a></p>`,
  };
}

function codeForm(base: string, visit: LoggedIn, action: string, button: string): Html {
  const id = `code-${action}`;
  return html`<form method="post" action="${base}${path}/${action}">${formStart(visit)}
<div class="field"><label for="${id}">Code</label>
<input type="text" id="${id}" name="code" autocomplete="one-time-code" spellcheck="false"
 maxlength="64" required></div>
<button class="quiet">${button}</button></form>`;
}
