import { z } from "zod";
import { OAuthApplicationId, SessionId } from "../../../events/core/ids.ts";
import { findUserById } from "../../../projections/user/user.ts";
import { closeSession, home } from "../../access/session.ts";
import { shutOut } from "../../api/oauth/authorized-application.ts";
import { NewAccessToken } from "../../api/token/access-token.ts";
import { createToken, revokeToken, scopesMax } from "../../api/token/view.ts";
import { mustBeFound } from "../../api/user/user.ts";
import { userView } from "../../api/user/view.ts";
import { endOfDay, mustBeAhead } from "../../core/expiry.ts";
import { checked, nameLengthMax } from "../../core/schema.ts";
import { type Html, html } from "../core/html.ts";
import { notice, time } from "../core/layout.ts";
import { showingRefusals } from "../core/refusal-message.ts";
import {
  type LoggedIn,
  type PageAnswer,
  type PageDeps,
  type PageRoute,
  page,
} from "../core/route.ts";
import { applicationSection } from "./application.ts";
import { identityPath } from "./identity.ts";
import { sessionSection } from "./session.ts";
import { sshKeySection } from "./ssh-key.ts";
import { tokenSection } from "./token.ts";

/** One checked box is a text, several are a list, none are nothing. */
const Checked = z.preprocess(
  (value) => (value === undefined ? [] : [value].flat()),
  z.array(z.string().max(nameLengthMax)).max(scopesMax),
);

const entry = page({
  method: "get",
  path: "/",
  operationId: "showEntry",
  access: "anonymous",
  handle: async () => ({ redirect: home }),
});

/** What variables of jobs name as the address of the REST interface. */
const showInterface = page({
  method: "get",
  path: "/rest-api",
  operationId: "showInterface",
  besides: true,
  access: "anonymous",
  handle: async () => ({ redirect: "/docs" }),
});

const showHome = page({
  method: "get",
  path: home,
  operationId: "showConsole",
  access: "session",
  handle: ({ visit }, deps) => homePage(visit, deps),
});

/** What the home page says beside the rest. */
type Messages = Readonly<{ wrong?: string; done?: string | Html }>;

async function homePage(
  visit: LoggedIn,
  deps: PageDeps,
  { wrong, done }: Messages = {},
): Promise<PageAnswer> {
  const user = mustBeFound(await findUserById(deps.db, visit.userId));
  const person = { ...userView(user), email: user.email ?? "" };
  const tokens = await tokenSection(visit, deps);
  const keys = await sshKeySection(visit, deps);
  const applications = await applicationSection(visit, deps);
  const sessions = await sessionSection(visit, deps);
  return {
    title: person.fullName,
    status: wrong === undefined ? 200 : 422,
    body: (base) => html`${notice(wrong)}${notice(done, "done")}
<section aria-labelledby="account">
<h2 id="account">Account</h2>
<dl>
<dt>Alias</dt><dd>${person.username}</dd>
<dt>E-mail</dt><dd>${person.email}</dd>
<dt>Since</dt><dd>${time(user.created_at)}</dd>
${user.is_admin && html`<dt>Role</dt><dd>Administrator of this instance</dd>`}
</dl>
${user.is_admin && html`<p><a href="${base}/page/admin/operations">Operations</a> <a href="${base}/admin/queues">Queues</a></p>`}
<p><a href="${base}/user/audit">What happened to the account</a></p>
<p><a href="${base}/console/two-factor">Two-factor login</a></p>
<p><a href="${base}${identityPath}">External logins</a></p>
</section>
${tokens(base)}
${keys(base)}
${applications(base)}
${sessions(base)}`,
  };
}

const endOther = page({
  method: "post",
  path: "/console/session/{id}/end",
  operationId: "endSession",
  access: "session",
  params: z.object({ id: SessionId }),
  async handle({ params, visit }, deps) {
    const { userId } = visit;
    const metadata = await visit.metadata();
    await closeSession({ sessionId: params.id, by: userId, reason: "REVOKED", metadata }, deps);
    return { redirect: home };
  },
});

const createOne = page({
  method: "post",
  path: "/console/token",
  operationId: "createTokenInConsole",
  access: "session",
  form: z.object({
    name: z.string().max(nameLengthMax),
    scopes: Checked,
    expiresAt: z.string().max(nameLengthMax).default(""),
  }),
  handle: ({ form, visit }, deps) =>
    tellingRefusals(visit, deps, async () => {
      const { name, scopes, expiresAt: lastDay } = checked(NewAccessToken, form);
      const expiresAt = endOfDay(lastDay);
      mustBeAhead(expiresAt, deps.now(), "token.expiry_past");
      const { token } = await createToken("ACCESS", { name, scopes, expiresAt }, visit, deps);
      const done = html`The token “${name}” was made. Copy it now: it is not shown again.
<code class="secret">${token}</code>`;
      return await homePage(visit, deps, { done });
    }),
});

const revokeOne = page({
  method: "post",
  path: "/console/token/revoke",
  operationId: "revokeTokenInConsole",
  access: "session",
  form: z.object({ name: z.string().max(nameLengthMax) }),
  async handle({ form, visit }, deps) {
    await revokeToken("ACCESS", form.name, visit, deps);
    return { redirect: home };
  },
});

const shutOutOne = page({
  method: "post",
  path: "/console/application/{id}/revoke",
  operationId: "shutOutInConsole",
  access: "session",
  params: z.object({ id: OAuthApplicationId }),
  async handle({ params, visit }, deps) {
    await shutOut(params.id, visit, deps);
    return { redirect: home };
  },
});

/** A refusal that a user can act on is shown on the page it came from. */
function tellingRefusals(
  visit: LoggedIn,
  deps: PageDeps,
  run: () => Promise<PageAnswer>,
): Promise<PageAnswer> {
  return showingRefusals(["unprocessable"], run, (wrong) => homePage(visit, deps, { wrong }));
}

export const consolePages: readonly PageRoute[] = [
  createOne,
  endOther,
  entry,
  showInterface,
  revokeOne,
  showHome,
  shutOutOne,
];
