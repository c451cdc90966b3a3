import { z } from "zod";

import { Scope } from "../../events/token/access-token.ts";
import { Expiry, endOfDay, mustBeAhead } from "../core/expiry.ts";
import { type Route, route } from "../core/route.ts";
import { createToken, listTokens, revokeToken, scopesMax, TokenName, TokenView } from "./view.ts";

const tag = "User settings";

const RegistryScope = Scope.extract(["READ_REGISTRY", "WRITE_REGISTRY"]);

const NewTransportToken = z
  .object({
    name: TokenName,
    scopes: z.array(RegistryScope).min(1, "A token needs at least one scope").max(scopesMax),
    expiresAt: Expiry.meta({
      description: "The last day on which the token is valid; without one it never ends.",
    }),
  })
  .meta({ id: "NewTransportToken" });

const CreatedTransportToken = z
  .object({
    token: z.string().meta({ description: "Shown once." }),
    name: z.string(),
    scopeSet: z.array(RegistryScope),
  })
  .meta({ id: "TransportToken" });

const postTransportToken = route({
  method: "post",
  path: "/user/settings/transport-token/create",
  operationId: "createTransportToken",
  notForApplications: true,
  summary: "Create a transport token, which opens the registries alone",
  tag,
  scope: "USER_WRITE",
  access: "user",
  body: NewTransportToken,
  reply: CreatedTransportToken,
  errors: [403, 422],
  async handle({ body, request }, deps) {
    const expiresAt = endOfDay(body.expiresAt);
    mustBeAhead(expiresAt, deps.now(), "token.expiry_past");
    const { token, name } = await createToken("TRANSPORT", { ...body, expiresAt }, request, deps);
    return { token, name, scopeSet: [...new Set(body.scopes)] };
  },
});

const getTransportTokens = route({
  method: "get",
  path: "/user/settings/transport-token",
  operationId: "listTransportTokens",
  summary: "List one's transport tokens",
  tag,
  scope: "USER_READ",
  access: "user",
  list: "transportTokenList",
  reply: TokenView,
  errors: [403],
  handle: ({ page, request }, deps) => listTokens("TRANSPORT", request.userId, page, deps),
});

const deleteTransportToken = route({
  method: "delete",
  path: "/user/settings/transport-token/{name}",
  operationId: "revokeTransportToken",
  notForApplications: true,
  summary: "Revoke a transport token",
  tag,
  scope: "USER_WRITE",
  access: "user",
  params: z.object({ name: z.string() }),
  reply: "empty",
  errors: [403, 404],
  handle: ({ params, request }, deps) => revokeToken("TRANSPORT", params.name, request, deps),
});

export const transportTokenRoutes: readonly Route[] = [
  deleteTransportToken,
  getTransportTokens,
  postTransportToken,
];
