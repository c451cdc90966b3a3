import { z } from "zod";
import { Refusal } from "../../../platform/refusal.ts";
import { returnPath } from "../../access/return-to.ts";
import { endSession, home, signIn } from "../../access/session.ts";
import { nameLengthMax, pathLengthMax } from "../../core/schema.ts";
import { type Html, html } from "../core/html.ts";
import { csrfField, notice } from "../core/layout.ts";
import { showingRefusals } from "../core/refusal-message.ts";
import { type PageAnswer, type PageDeps, page, type Visit } from "../core/route.ts";
import { accountLinks } from "./account-page.ts";
import { isOffered, loginMethods, type OfferedLink, offeredLinks } from "./method.ts";

const Query = z.object({
  returnTo: z.string().max(pathLengthMax).optional().catch(undefined),
  /** Shows every method instead of going to the default one. */
  choose: z.string().max(nameLengthMax).optional().catch(undefined),
});

export const loginPage = page({
  method: "get",
  path: "/login",
  operationId: "showLogin",
  access: "anonymous",
  query: Query,
  async handle({ query, visit }, deps) {
    const returnTo = returnPath(query.returnTo, home);
    if (visit.session !== undefined) return { redirect: returnTo };
    const settings = await deps.settings();
    const links = await offeredLinks(loginMethods, settings, returnTo, deps);
    const [first, second] = links.filter(({ kind }) => kind === settings.defaultLoginPage);
    // The default is gone to when it is the only one of its kind; with ?choose it never is.
    if (first !== undefined && second === undefined && query.choose === undefined) {
      return { redirect: first.path };
    }
    return await loginForm({ visit, links, returnTo }, deps);
  },
});

const Login = z.object({
  login: z.string().max(512),
  password: z.string().max(512),
  returnTo: z.string().max(pathLengthMax).optional(),
});

export const submitLogin = page({
  method: "post",
  path: "/login",
  operationId: "logIn",
  access: "anonymous",
  form: Login,
  async handle({ form, visit }, deps) {
    const settings = await deps.settings();
    if (!isOffered("BASIC", settings)) throw notOffered();
    const returnTo = returnPath(form.returnTo, home);
    const again = async (wrong: string) => {
      const links = await offeredLinks(loginMethods, settings, returnTo, deps);
      return await loginForm({ visit, links, returnTo, login: form.login, wrong }, deps);
    };
    const login = form.login.trim();
    const run = async (): Promise<PageAnswer> => {
      const user = await deps.authenticate.password(login, form.password, visit.ip);
      if (user === null) return await again("Alias or e-mail and password do not match.");
      const hash = user.password_hash;
      const stillTrue = (now: typeof user) => now.password_hash === hash;
      return await signIn(visit, { userId: user.id, via: "PASSWORD", returnTo, stillTrue }, deps);
    };
    return showingRefusals(["forbidden"], run, again);
  },
});

export const logout = page({
  method: "post",
  path: "/logout",
  operationId: "logOut",
  access: "session",
  async handle({ visit }, deps) {
    await endSession(visit.session, "LOGOUT", visit, deps);
    return { redirect: "/login?choose=1", cookies: [{ name: "session" }] };
  },
});

type LoginForm = Readonly<{
  visit: Visit;
  links: readonly OfferedLink[];
  returnTo: string;
  login?: string;
  wrong?: string;
}>;

async function loginForm(form: LoginForm, deps: PageDeps): Promise<PageAnswer> {
  const { links, wrong } = form;
  const settings = await deps.settings();
  const withPassword = isOffered("BASIC", settings);
  const parts = (base: string): Html => html`<div class="narrow">
${notice(wrong)}
<div class="card">
${withPassword && passwordForm(base, form)}
${withPassword && links.length > 0 && html`<p class="or">or</p>`}
${links.map(({ title, path }) => html`<a class="button quiet wide" href="${base}${path}">${title}</a>`)}
${withPassword && accountLinks(base, settings)}
${!withPassword && links.length === 0 && html`<p>There is no way to log in here at present.</p>`}
</div>
</div>`;
  return { title: "Log in", body: parts, status: wrong === undefined ? 200 : 403 };
}

function passwordForm(base: string, { visit, returnTo, login = "" }: LoginForm): Html {
  return html`<form method="post" action="${base}/login">
${csrfField(visit.csrf)}
<input type="hidden" name="returnTo" value="${returnTo}">
<div class="field">
<label for="login">Alias or e-mail</label>
<input type="text" id="login" name="login" value="${login}" autocomplete="username"
 autocapitalize="none" spellcheck="false" required ${login === "" && autofocus}>
</div>
<div class="field">
<label for="password">Password</label>
<input type="password" id="password" name="password" autocomplete="current-password"
 required ${login !== "" && autofocus}>
</div>
<button class="wide">Log in</button>
</form>`;
}

const autofocus = html`autofocus`;

function notOffered(): Refusal {
  const message = "Logging in with a password is switched off here.";
  return new Refusal("forbidden", "auth.login_page_disabled", message);
}
