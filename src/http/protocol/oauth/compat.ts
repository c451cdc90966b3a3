import { z } from "zod";

import { hashToken } from "../../../platform/key/token.ts";
import {
  findAuthorizationByCode,
  findAuthorizationByRefresh,
} from "../../../projections/oauth/authorization.ts";
import { type Route, route } from "../../core/route.ts";
import { exchangeCode, type Issued, notGood, refreshTokens } from "./grant.ts";

const common = { tag: "OAuth", scope: "none", access: "client", secret: true } as const;

const CompatTokens = z
  .object({
    accessToken: z.string(),
    refreshToken: z.string(),
    expires: z.iso.datetime(),
    scope: z.string().meta({ description: "By commas." }),
  })
  .meta({ id: "CompatTokens" });

const text = z.string().max(512);

/**
 * The forms that clients in the field use: the code alone identifies the application. So a code that was
 * requested with a challenge is not exchanged here, unless the verifier comes along.
 */
const access = route({
  ...common,
  method: "get",
  path: "/api/token/access",
  operationId: "exchangeCodeByQuery",
  summary: "Exchange a code for tokens, in the older form",
  description: "New clients use /oauth/token, where the application proves itself.",
  query: z.object({ code: text, code_verifier: text.optional() }),
  reply: CompatTokens,
  async handle({ query, request }, deps) {
    const row = await findAuthorizationByCode(deps.db, hashToken(query.code));
    if (row === undefined) throw notGood();
    // There is no place to name the address again.
    const exchange = { redirectUri: row.redirect_uri ?? undefined, verifier: query.code_verifier };
    return viewOf(await exchangeCode(row, exchange, request, deps));
  },
});

const refresh = route({
  ...common,
  method: "post",
  path: "/api/token/refresh",
  operationId: "refreshTokensByJson",
  summary: "Exchange a refresh token for new tokens, in the older form",
  body: z.object({ refreshToken: text }).meta({ id: "CompatRefresh" }),
  reply: CompatTokens,
  async handle({ body, request }, deps) {
    const row = await findAuthorizationByRefresh(deps.db, hashToken(body.refreshToken));
    if (row === undefined) throw notGood();
    const wanted = { refresh: body.refreshToken, scopes: undefined };
    return viewOf(await refreshTokens(row, wanted, request, deps));
  },
});

export const oauthCompatRoutes: readonly Route[] = [access, refresh];

function viewOf({ access, refresh, scopes, expiresAt }: Issued): z.input<typeof CompatTokens> {
  return {
    accessToken: access,
    refreshToken: refresh,
    expires: expiresAt,
    scope: scopes.join(","),
  };
}
