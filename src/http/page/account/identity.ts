import { z } from "zod";
import { LoginConnectionId } from "../../../events/core/ids.ts";
import type { ConnectionKind } from "../../../events/login/connection.ts";
import {
  type LoginConnection,
  listLoginConnections,
} from "../../../projections/login/connection.ts";
import {
  type ExternalIdentityRow,
  identitiesOf,
} from "../../../projections/login/external-identity.ts";
import { authenticateByDirectory, personOf } from "../../protocol/ldap/login.ts";
import { beginOidc } from "../../protocol/oidc/login.ts";
import { beginSaml } from "../../protocol/saml/login.ts";
import { type Html, html } from "../core/html.ts";
import { notice, time } from "../core/layout.ts";
import { formStart } from "../core/once.ts";
import { showingRefusals } from "../core/refusal-message.ts";
import {
  type LoggedIn,
  type PageAnswer,
  type PageDeps,
  type PageRoute,
  page,
} from "../core/route.ts";
import { noConnection, openConnection } from "../login/connection-page.ts";
import { connect } from "../login/external-account.ts";
import { isOffered } from "../login/method.ts";

export const identityPath = "/console/identity";
const title = "External logins";
const kinds = ["LDAP", "SAML", "OIDC"] as const;
const connectionsMax = 50;

const show = page({
  method: "get",
  path: identityPath,
  operationId: "showIdentities",
  access: "session",
  handle: ({ visit }, deps) => identityPage(visit, deps),
});

/** Begins only by a form of ours: a link could give the account to the sender of the link. */
const submit = page({
  method: "post",
  path: `${identityPath}/{kind}/{connectionId}`,
  operationId: "connectIdentity",
  access: "session",
  params: z.object({ kind: z.string(), connectionId: LoginConnectionId }),
  form: z.object({
    login: z.string().trim().max(255).default(""),
    password: z.string().max(512).default(""),
  }),
  async handle({ params: { kind, connectionId }, form, visit }, deps) {
    const wanted = { returnTo: identityPath, linkTo: visit.userId };
    switch (kind) {
      case "ldap":
        return await connectByDirectory(connectionId, form, visit, deps);
      case "saml":
        return onward(await beginSaml(connectionId, wanted, deps));
      case "oidc":
        return onward(await beginOidc(connectionId, wanted, deps));
      default:
        throw noConnection();
    }
  },
});

export const identityPages: readonly PageRoute[] = [show, submit];

async function connectByDirectory(
  connectionId: LoginConnectionId,
  form: Readonly<{ login: string; password: string }>,
  visit: LoggedIn,
  deps: PageDeps,
): Promise<PageAnswer> {
  const connection = await openConnection("LDAP", connectionId, deps);
  const run = async (): Promise<PageAnswer> => {
    const entry = await authenticateByDirectory(connection, form, visit, deps);
    if (entry === null) return await identityPage(visit, deps, "Name and password do not match.");
    const authenticated = { connection, person: personOf(connection, entry) };
    await connect(authenticated, visit.userId, "person", visit, deps);
    return { redirect: identityPath };
  };
  return showingRefusals(["forbidden", "conflict"], run, (wrong) =>
    identityPage(visit, deps, wrong),
  );
}

/** A link, because our forms lead nowhere but to us. */
function onward(answer: PageAnswer): PageAnswer {
  if (!("redirect" in answer)) return answer;
  const { redirect, cookies = [] } = answer;
  const body = html`<div class="narrow"><div class="card">
<p>You are led to the provider, which says who you are there. That person will be able to log in to
this account from then on.</p>
<a class="button wide" href="${redirect}">Continue</a>
</div></div>`;
  return { title, body: () => body, cookies };
}

async function identityPage(visit: LoggedIn, deps: PageDeps, wrong?: string): Promise<PageAnswer> {
  const identities = await identitiesOf(deps.db, visit.userId);
  const connections = await offered(deps);
  const body = (base: string): Html => html`<div class="narrow">${notice(wrong)}
<p><a href="${base}/console">Back to the console</a></p>
${connections.length === 0 && html`<p>No identity provider is enabled on this instance.</p>`}
${connections.map((connection) => card(base, visit, connection, identities))}
</div>`;
  return { title, body, status: wrong === undefined ? 200 : 403 };
}

async function offered({ db, settings }: PageDeps): Promise<readonly LoginConnection[]> {
  const now = await settings();
  const open = kinds.filter((kind) => isOffered(kind, now));
  const page = { limit: connectionsMax, offset: 0, enabled: true };
  const found = await Promise.all(open.map((kind) => listLoginConnections(db, kind, page)));
  return found.flatMap(({ rows }): readonly LoginConnection[] => rows);
}

function card(
  base: string,
  visit: LoggedIn,
  { id, details }: LoginConnection,
  identities: readonly ExternalIdentityRow[],
): Html {
  const linked = identities.find(({ connection_id }) => connection_id === id);
  return html`<section class="card"><h2>${details.name}</h2>
${linked && html`<p>Connected since ${time(linked.linked_at)}.</p>`}
<form method="post" action="${base}${identityPath}/${details.kind.toLowerCase()}/${id}">
${formStart(visit)}
${fieldsOf(details.kind, id)}
<button class="quiet wide">${linked ? "Connect another identity" : "Connect"}</button>
</form></section>`;
}

function fieldsOf(kind: ConnectionKind, id: string): Html | undefined {
  if (kind !== "LDAP") return undefined;
  return html`<div class="field"><label for="login-${id}">Name there</label>
<input type="text" id="login-${id}" name="login" autocapitalize="none" spellcheck="false" required>
</div>
<div class="field"><label for="password-${id}">Password there</label>
<input type="password" id="password-${id}" name="password" autocomplete="off" required></div>`;
}
