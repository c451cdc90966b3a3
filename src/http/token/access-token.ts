import { z } from "zod";

import { Scope } from "../../events/token/access-token.ts";
import { Expiry, endOfDay, mustBeAhead } from "../core/expiry.ts";
import { type Route, route } from "../core/route.ts";
import { createToken, listTokens, revokeToken, scopesMax, TokenName, TokenView } from "./view.ts";

const tag = "User settings";

export const NewAccessToken = z
  .object({
    name: TokenName,
    scopes: z.array(Scope).min(1, "A token needs at least one scope").max(scopesMax),
    expiresAt: Expiry.meta({
      description: "The last day on which the token is valid; without one it never ends.",
    }),
  })
  .meta({ id: "NewAccessToken" });

const CreatedAccessToken = z
  .object({
    token: z.string().meta({ description: "Shown once." }),
    name: z.string(),
    scopeSet: z.array(Scope),
    expiresAt: z.string().nullable(),
  })
  .meta({ id: "AccessToken" });

const postAccessToken = route({
  method: "post",
  path: "/user/settings/access-token/create",
  operationId: "createAccessToken",
  summary: "Create an access token",
  description: "Needs Basic authentication by alias or e-mail and password.",
  tag,
  scope: "none",
  access: "basic",
  body: NewAccessToken,
  reply: CreatedAccessToken,
  errors: [403, 422],
  async handle({ body, request }, deps) {
    const expiresAt = endOfDay(body.expiresAt);
    mustBeAhead(expiresAt, deps.now(), "token.expiry_past");
    return createToken("ACCESS", { ...body, expiresAt }, request, deps);
  },
});

const getAccessTokens = route({
  method: "get",
  path: "/user/settings/access-token",
  operationId: "listAccessTokens",
  summary: "List one's access tokens",
  tag,
  scope: "USER_READ",
  access: "user",
  list: "accessTokenList",
  reply: TokenView,
  errors: [403],
  handle: ({ page, request }, deps) => listTokens("ACCESS", request.userId, page, deps),
});

const deleteAccessToken = route({
  method: "delete",
  path: "/user/settings/access-token/{name}",
  operationId: "revokeAccessToken",
  notForApplications: true,
  summary: "Revoke an access token",
  tag,
  scope: "USER_WRITE",
  access: "user",
  params: z.object({ name: z.string() }),
  reply: "empty",
  errors: [403, 404],
  handle: ({ params, request }, deps) => revokeToken("ACCESS", params.name, request, deps),
});

export const accessTokenRoutes: readonly Route[] = [
  deleteAccessToken,
  getAccessTokens,
  postAccessToken,
];
