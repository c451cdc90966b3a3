import { z } from "zod";

import { Scope } from "../../../events/token/access-token.ts";
import { endOfDay, mustBeAhead } from "../../core/expiry.ts";
import { type Route, route } from "../../core/route.ts";
import { createToken, newToken, ownTokens } from "./view.ts";

const RegistryScope = Scope.extract(["READ_REGISTRY", "WRITE_REGISTRY"]);

const NewTransportToken = newToken(RegistryScope).meta({ id: "NewTransportToken" });

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
  tag: "User settings",
  scope: "USER_WRITE",
  access: "user",
  body: NewTransportToken,
  reply: CreatedTransportToken,
  async handle({ body, request }, deps) {
    const expiresAt = endOfDay(body.expiresAt);
    mustBeAhead(expiresAt, deps.now(), "token.expiry_past");
    const { token, name } = await createToken("TRANSPORT", { ...body, expiresAt }, request, deps);
    return { token, name, scopeSet: [...new Set(body.scopes)] };
  },
});

export const transportTokenRoutes: readonly Route[] = [
  ...ownTokens("TRANSPORT", "Transport", "transportTokenList"),
  postTransportToken,
];
