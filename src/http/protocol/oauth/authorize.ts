import { randomBytes } from "node:crypto";
import { z } from "zod";

import { oauthAuthorization } from "../../../commands/oauth/authorization.ts";
import { OAuthApplicationId, OAuthAuthorizationId } from "../../../events/core/ids.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { hashToken } from "../../../platform/key/token.ts";
import { formTarget } from "../../api/oauth/redirect.ts";
import { type Html, html } from "../../page/core/html.ts";
import { formStart } from "../../page/core/once.ts";
import {
  type LoggedIn,
  type PageDeps,
  type PageRoute,
  page,
  type Visit,
} from "../../page/core/route.ts";
import { type AuthorizeRequest, answerAt, readAuthorizeRequest, type Sent } from "./request.ts";
import { scopeTexts } from "./scope.ts";

/** An application exchanges its code at once. */
const codeLifeMs = 2 * 60_000;
const path = "/oauth/authorize";

/**
 * RFC 6749, 4.1: an application sends the user here. Consent is requested even when they agreed before,
 * since nothing proves that it is the same application (RFC 8252, 8.6).
 */
const consentPage = page({
  method: "get",
  path,
  operationId: "showConsent",
  access: "anonymous",
  query: z.unknown(),
  async handle({ query, visit }, deps) {
    const request = await readAuthorizeRequest(query, deps);
    // What is wrong with a request is not worth logging in for.
    if ("redirect" in request) return request;
    const { session } = visit;
    if (session === undefined) {
      return { redirect: `/login?returnTo=${encodeURIComponent(visit.here)}` };
    }
    return {
      title: `Authorize ${request.client.name}?`,
      body: (base: string) => consent(base, { ...visit, session }, request),
      formTargets: [formTarget(request.redirectUri)],
    };
  },
});

const decide = page({
  method: "post",
  path,
  operationId: "giveConsent",
  access: "session",
  form: z.looseObject({ decision: z.enum(["allow", "deny"]) }),
  async handle({ form, visit }, deps) {
    // The fields come from the browser like the first request did, and are read as strictly.
    const request = await readAuthorizeRequest(form, deps);
    if ("redirect" in request) return request;
    if (form.decision === "allow") return await approve(request, visit, deps);
    const denied = { error: "access_denied", error_description: "The user said no." };
    return answerAt(request, denied, deps);
  },
});

export const oauthPages: readonly PageRoute[] = [consentPage, decide];

async function approve(request: AuthorizeRequest, visit: LoggedIn, deps: PageDeps): Promise<Sent> {
  const code = randomBytes(32).toString("base64url");
  const id = OAuthAuthorizationId.parse(deterministicId(visit.commandId, "oauth authorization"));
  const now = deps.now();
  const command = {
    type: "ApproveOAuthAuthorization",
    authorizationId: id,
    userId: visit.userId,
    applicationId: OAuthApplicationId.parse(request.client.id),
    scopes: request.scopes,
    codeHash: hashToken(code),
    codeExpiresAt: new Date(now.getTime() + codeLifeMs).toISOString(),
    redirectUri: request.redirectNamed ? request.redirectUri : null,
    codeChallenge: request.codeChallenge,
    at: now.toISOString(),
  } as const;
  await visit.execute(oauthAuthorization, id, command);
  return answerAt(request, { code }, deps);
}

type ConsentVisit = Visit & Pick<LoggedIn, "session">;

function consent(base: string, visit: ConsentVisit, request: AuthorizeRequest): Html {
  const { client, scopes, redirectUri } = request;
  const administers = visit.isAdmin && scopes.includes("USER_WRITE");
  return html`<div class="card">
<p><strong>${client.name}</strong>, an application of <strong>${client.owner_alias}</strong>,
asks to act in your name here. You are logged in as <strong>${visit.session.alias}</strong>.</p>
${client.description !== "" && html`<p class="hint">${client.description}</p>`}
<h2>It could</h2>
<ul>${scopes.map((scope) => html`<li>${scopeTexts[scope]} <code>${scope}</code></li>`)}
${administers && html`<li><strong>administer this whole instance, as you can</strong></li>`}</ul>
<p class="hint">After your answer you go on to <code>${redirectUri}</code>.
${client.homepage_url !== "" && html`About it: <a href="${client.homepage_url}" rel="noreferrer">${client.homepage_url}</a>.`}
You can take it back at any time in your console.</p>
<form method="post" action="${base}${path}">
${formStart(visit)}
${fieldsOf(request).map(
  ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
)}
<div class="actions">
<button name="decision" value="allow">Allow</button>
<button class="quiet" name="decision" value="deny">Deny</button>
</div>
</form>
</div>`;
}

/** The request again, in the standard's own names. */
function fieldsOf(request: AuthorizeRequest): readonly (readonly [string, string])[] {
  const { client, redirectUri, redirectNamed, scopes, state, codeChallenge } = request;
  const fields = {
    client_id: client.client_id,
    redirect_uri: redirectNamed ? redirectUri : undefined,
    scope: scopes.join(" "),
    state,
    code_challenge: codeChallenge ?? undefined,
    code_challenge_method: codeChallenge === null ? undefined : "S256",
  };
  return Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
}
