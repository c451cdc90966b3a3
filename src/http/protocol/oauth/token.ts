import { z } from "zod";

import { oauthAuthorization } from "../../../commands/oauth/authorization.ts";
import { hashToken } from "../../../platform/key/token.ts";
import type { ClientRow } from "../../../projections/oauth/application.ts";
import {
  findAuthorizationByAccess,
  findAuthorizationByCode,
  findAuthorizationByRefresh,
  type OAuthAuthorizationRow,
} from "../../../projections/oauth/authorization.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { authenticatedClient } from "./client.ts";
import { inOAuth, OAuthErrorView, OAuthRefusal } from "./error.ts";
import { accessLifeMs, exchangeCode, type Issued, notGood, refreshTokens } from "./grant.ts";
import { parseScopes } from "./scope.ts";

const tag = "OAuth";
const common = {
  tag,
  scope: "none",
  access: "client",
  form: true,
  translate: inOAuth,
  protocolErrors: { statuses: [400, 401], schema: OAuthErrorView },
} as const;
/** A parameter that comes twice is a list, and so refused (RFC 6749, 3.2). */
const text = z.string().max(4_096).optional();

const TokenRequest = z.object({
  grant_type: text.meta({ examples: ["authorization_code"] }),
  code: text,
  redirect_uri: text,
  code_verifier: text,
  refresh_token: text,
  scope: text,
  client_id: text,
  client_secret: text,
});

const TokenAnswer = z
  .object({
    access_token: z.string(),
    token_type: z.literal("Bearer"),
    expires_in: z.int().meta({ description: "Seconds." }),
    refresh_token: z.string(),
    scope: z.string().meta({ description: "By spaces." }),
  })
  .meta({ id: "OAuthTokens", description: "RFC 6749, 5.1." });

const token = route({
  ...common,
  method: "post",
  path: "/oauth/token",
  operationId: "createOAuthToken",
  summary: "Exchange a code or a refresh token for tokens",
  description:
    "RFC 6749. A wrong request is answered by `{error, error_description}` as 5.2 says, with 400, or 401 " +
    "when the application is not proven. A code or refresh token that comes twice revokes all that came of it.",
  body: TokenRequest,
  reply: TokenAnswer,
  secret: true,
  async handle({ body, request }, deps) {
    const client = await authenticatedClient(request.header("authorization"), body, deps);
    return viewOf(await granted(body, client, request, deps));
  },
});

type Fields = z.output<typeof TokenRequest>;

async function granted(
  body: Fields,
  client: ClientRow,
  request: RequestContext,
  deps: Deps,
): Promise<Issued> {
  switch (body.grant_type) {
    case "authorization_code": {
      const row = await findAuthorizationByCode(deps.db, hashToken(body.code ?? ""));
      const exchange = { redirectUri: body.redirect_uri, verifier: body.code_verifier };
      return await exchangeCode(ownedBy(client, row), exchange, request, deps);
    }
    case "refresh_token": {
      const refresh = body.refresh_token ?? "";
      const scopes = body.scope === undefined ? undefined : parseScopes(body.scope);
      if (body.scope !== undefined && scopes === undefined) {
        throw new OAuthRefusal("invalid_scope", "Name scopes that there are.");
      }
      const row = await findAuthorizationByRefresh(deps.db, hashToken(refresh));
      return await refreshTokens(ownedBy(client, row), { refresh, scopes }, request, deps);
    }
    case undefined:
      throw new OAuthRefusal("invalid_request", "The grant_type is missing.");
    default:
      throw new OAuthRefusal(
        "unsupported_grant_type",
        "Only authorization_code and refresh_token are known.",
      );
  }
}

/** What was given to another application is as good as nothing. */
function ownedBy(client: ClientRow, row: OAuthAuthorizationRow | undefined): OAuthAuthorizationRow {
  if (row === undefined || row.application_id !== client.id) throw notGood();
  return row;
}

function viewOf({ access, refresh, scopes }: Issued): z.input<typeof TokenAnswer> {
  return {
    access_token: access,
    token_type: "Bearer",
    expires_in: accessLifeMs / 1_000,
    refresh_token: refresh,
    scope: scopes.join(" "),
  };
}

const RevokeRequest = z.object({
  token: text,
  token_type_hint: text,
  client_id: text,
  client_secret: text,
});

const revoke = route({
  ...common,
  method: "post",
  path: "/oauth/revoke",
  operationId: "revokeOAuthToken",
  summary: "Revoke a token of an application",
  description:
    "RFC 7009. Access and refresh token end together. A token that is unknown is revoked already: 200.",
  body: RevokeRequest,
  reply: "empty",
  async handle({ body, request }, deps) {
    const client = await authenticatedClient(request.header("authorization"), body, deps);
    if (body.token === undefined) throw new OAuthRefusal("invalid_request", "Name the token.");
    const hash = hashToken(body.token);
    const row =
      (await findAuthorizationByAccess(deps.db, hash)) ??
      (await findAuthorizationByRefresh(deps.db, hash));
    if (row === undefined || row.application_id !== client.id) return;
    const at = deps.now().toISOString();
    const command = {
      type: "RevokeOAuthAuthorization",
      reason: "APPLICATION",
      by: null,
      at,
    } as const;
    await request.execute(oauthAuthorization, row.id, command);
  },
});

export const oauthTokenRoutes: readonly Route[] = [token, revoke];
