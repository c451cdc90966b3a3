import { z } from "zod";

import { Scope } from "../../../events/token/access-token.ts";
import { endOfDay, mustBeAhead } from "../../core/expiry.ts";
import { type Route, route } from "../../core/route.ts";
import { createToken, newToken, ownTokens } from "./view.ts";

export const NewAccessToken = newToken(Scope).meta({ id: "NewAccessToken" });

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
  tag: "User settings",
  scope: "none",
  access: "basic",
  body: NewAccessToken,
  reply: CreatedAccessToken,
  async handle({ body, request }, deps) {
    const expiresAt = endOfDay(body.expiresAt);
    mustBeAhead(expiresAt, deps.now(), "token.expiry_past");
    return createToken("ACCESS", { ...body, expiresAt }, request, deps);
  },
});

export const accessTokenRoutes: readonly Route[] = [
  ...ownTokens("ACCESS", "Access", "accessTokenList"),
  postAccessToken,
];
