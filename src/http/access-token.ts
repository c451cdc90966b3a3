import { z } from "zod";

import { accessToken } from "../commands/access-token.ts";
import { handle } from "../commands/handle.ts";
import { Scope } from "../events/access-token.ts";
import { AccessTokenId } from "../events/ids.ts";
import { deterministicId } from "../platform/deterministic-id.ts";
import { hashToken, newToken, tokenPrefixes } from "../platform/token.ts";
import { Expiry, endOfDay, mustBeAhead } from "./expiry.ts";
import { route } from "./route.ts";

const NewAccessToken = z
  .object({
    name: z.string().trim().min(1).max(255),
    scopes: z.array(Scope).min(1, "A token needs at least one scope"),
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

export const postAccessToken = route({
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
  errors: [403, 422],
  async handle({ body, request }, { store, vault, now }) {
    const at = now().toISOString();
    const expiresAt = endOfDay(body.expiresAt);
    mustBeAhead(expiresAt, now(), "token.expiry_past");
    // The same request always makes the same token, so one whose answer got lost can be repeated.
    const entropy = Buffer.from(vault.digest("access token", request.commandId), "hex");
    const token = newToken(tokenPrefixes.access, entropy);
    const command = {
      type: "CreateAccessToken",
      tokenId: AccessTokenId.parse(deterministicId(request.commandId, "access token")),
      userId: request.userId,
      kind: "ACCESS",
      name: body.name,
      scopes: body.scopes,
      tokenHash: hashToken(token),
      expiresAt,
      at,
    } as const;
    const metadata = await request.metadata();
    const result = await handle(store, accessToken, { id: request.userId, command, metadata });
    await request.visible(result.position);
    return { token, name: body.name, scopeSet: [...new Set(body.scopes)], expiresAt };
  },
});
