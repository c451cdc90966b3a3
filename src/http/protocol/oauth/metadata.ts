import { z } from "zod";

import { Scope } from "../../../events/token/access-token.ts";
import { type Route, route } from "../../core/route.ts";

const texts = z.array(z.string());

const Metadata = z
  .object({
    issuer: z.string(),
    authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    revocation_endpoint: z.string(),
    scopes_supported: texts,
    response_types_supported: texts,
    response_modes_supported: texts,
    grant_types_supported: texts,
    token_endpoint_auth_methods_supported: texts,
    revocation_endpoint_auth_methods_supported: texts,
    code_challenge_methods_supported: texts,
    authorization_response_iss_parameter_supported: z.boolean(),
    service_documentation: z.string(),
  })
  .meta({ id: "OAuthMetadata" });

const getOAuthMetadata = route({
  method: "get",
  path: "/.well-known/oauth-authorization-server",
  operationId: "getOAuthMetadata",
  summary: "Say how applications are authorised here",
  description: "RFC 8414.",
  tag: "OAuth",
  scope: "none",
  access: "anonymous",
  reply: Metadata,
  async handle(_input, { publicUrl }) {
    const methods = ["client_secret_basic", "client_secret_post", "none"];
    return {
      issuer: publicUrl,
      authorization_endpoint: `${publicUrl}/oauth/authorize`,
      token_endpoint: `${publicUrl}/oauth/token`,
      revocation_endpoint: `${publicUrl}/oauth/revoke`,
      scopes_supported: [...Scope.options],
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: ["authorization_code", "refresh_token"],
      token_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: methods,
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
      service_documentation: `${publicUrl}/docs`,
    };
  },
});

export const metadataRoutes: readonly Route[] = [getOAuthMetadata];
