import { z } from "zod";

import { sameDestination } from "../../../commands/core/destination.ts";
import type { OidcDetails } from "../../../events/login/connection.ts";
import { OutboundRefused } from "../../../platform/outbound/url.ts";
import type { Deps } from "../../core/deps.ts";
import type { Route } from "../../core/route.ts";
import { bool } from "../../core/schema.ts";
import { type ConnectionInput, connectionRoutes, sealedFor, wrongField } from "./connection.ts";
import { oidcEndpoints } from "./oidc-endpoint.ts";

/** RFC 6749, 3.3. */
const ScopeToken = z
  .string()
  .max(255)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,255}$/, "This is not a scope");

const NewConnection = z
  .object({
    name: z.string().trim().min(1).max(255),
    issuer: z
      .url({ protocol: /^https?$/ })
      .max(2_000)
      .meta({ example: "https://op.example.org" }),
    clientId: z.string().trim().min(1).max(1_024),
    clientSecret: z.string().max(1_024).nullish().meta({
      description: "Never shown. Left out of a change, it stays; empty for a public client.",
      example: "secret",
    }),
    scopes: z
      .array(ScopeToken)
      .max(50)
      .default(["openid", "email", "profile"])
      .transform((scopes) => [...new Set(["openid", ...scopes])]),
    trustEmail: bool().default(false).meta({
      description: "Its verified e-mails are proved: accounts may be linked by them.",
    }),
    allowRegistration: bool().default(true).meta({
      description: "People without an account get one.",
    }),
  })
  .meta({ id: "NewOidcConnection" });

const ConnectionView = z
  .object({
    uuid: z.uuid(),
    name: z.string(),
    issuer: z.string(),
    clientId: z.string(),
    hasClientSecret: z.boolean(),
    scopes: z.array(z.string()),
    trustEmail: z.boolean(),
    allowRegistration: z.boolean(),
    isEnabled: z.boolean(),
    redirectUri: z.string().meta({ description: "Register it with the provider." }),
  })
  .meta({ id: "OidcConnection" });

const path = "/admin/oidc" as const;

export const oidcConnectionRoutes: readonly Route[] = connectionRoutes({
  kind: "OIDC",
  path,
  param: "oidcUuid",
  statusPaths: [`${path}/{oidcUuid}/change-status`],
  list: "oidcAdminApiModelList",
  body: NewConnection,
  view: ConnectionView,

  async detailsOf(input, deps) {
    const { name, issuer, clientId, scopes, trustEmail, allowRegistration } = input.body;
    mustBeIssuer(issuer, deps);
    const secret = await sealedSecret(input, deps);
    const plain = { name, trustEmail, issuer, clientId, scopes, registers: allowRegistration };
    return { kind: "OIDC", ...plain, ...secret };
  },

  async viewOf({ id, details, enabled }, { publicUrl }) {
    return {
      uuid: id,
      name: details.name,
      issuer: details.issuer,
      clientId: details.clientId,
      hasClientSecret: details.clientSecret !== null,
      scopes: details.scopes,
      trustEmail: details.trustEmail,
      allowRegistration: details.registers,
      isEnabled: enabled,
      redirectUri: oidcEndpoints(publicUrl, id).callbackUrl,
    };
  },
});

/** OpenID Connect Discovery, 3: https, no query, no fragment; http only to what the operator named. */
function mustBeIssuer(issuer: string, { checkUrl, allowsPlainHttp }: Deps): void {
  try {
    const url = checkUrl(issuer);
    if (/[?#]/.test(issuer)) {
      throw wrongField("issuer", "oidc.issuer_invalid", "It has neither ? nor #.");
    }
    if (url.protocol === "https:" || allowsPlainHttp(url)) return;
    const message = "It must be https; OUTBOUND_ALLOW of the service may name an exception.";
    throw wrongField("issuer", "oidc.insecure", message);
  } catch (error) {
    if (!(error instanceof OutboundRefused)) throw error;
    throw wrongField("issuer", error.code, error.message);
  }
}

const destination = ["issuer", "clientId"] as const;
type Destination = Pick<OidcDetails, (typeof destination)[number]>;

/** A secret that is not sent again stays, while it goes to the same provider as the same client. */
async function sealedSecret(
  { id, body, before }: ConnectionInput<"OIDC", typeof NewConnection>,
  deps: Deps,
): Promise<Pick<OidcDetails, "clientSecret" | "clientSecretDigest">> {
  const sent = body.clientSecret;
  if ((sent === undefined || sent === null) && before !== undefined) {
    const { clientSecret, clientSecretDigest } = before.details;
    const stays = sameDestination<Destination>(before.details, body, destination);
    if (clientSecret !== null && !stays) {
      const message = "Give the secret again: the issuer or the client it belongs to changes.";
      throw wrongField("clientSecret", "oidc.secret_needed", message);
    }
    return { clientSecret, clientSecretDigest };
  }
  if (!sent) return { clientSecret: null, clientSecretDigest: "" };
  const { sealed, digest } = await sealedFor(id, sent, deps);
  return { clientSecret: sealed, clientSecretDigest: digest };
}
