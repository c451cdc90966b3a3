import { z } from "zod";
import { Refusal } from "../../../platform/refusal.ts";
import { HttpRefusal } from "../../core/errors.ts";

/** RFC 6749, 4.1.2.1 and 5.2. */
const OAuthErrorCode = z.enum([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "unsupported_response_type",
  "invalid_scope",
  "access_denied",
]);
export type OAuthErrorCode = z.output<typeof OAuthErrorCode>;

export const OAuthErrorView = z
  .object({ error: OAuthErrorCode, error_description: z.string() })
  .meta({ id: "OAuthError", description: "RFC 6749, 5.2." });

/** What the token endpoint answers, in the form that OAuth libraries read. */
export class OAuthRefusal extends HttpRefusal {
  override readonly name = "OAuthRefusal";
  override readonly document: Readonly<Record<string, unknown>>;

  constructor(error: OAuthErrorCode, description: string) {
    const isClient = error === "invalid_client";
    const headers = isClient ? { "WWW-Authenticate": 'Basic realm="oauth", charset="UTF-8"' } : {};
    super(isClient ? 401 : 400, `oauth.${error}`, description, headers);
    this.document = { error, error_description: description };
  }
}

/** Refusals of the domain and of the machinery in the words of RFC 6749. */
export function inOAuth(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error;
  switch (error.code) {
    case "oauth.invalid_grant":
      return new OAuthRefusal("invalid_grant", error.message);
    case "oauth.invalid_scope":
      return new OAuthRefusal("invalid_scope", error.message);
    case "body.not_form":
    case "body.nul":
    case "body.lone_surrogate":
    case "body.too_many_fields":
    case "request.invalid":
      return new OAuthRefusal("invalid_request", error.message);
    default:
      return error;
  }
}
