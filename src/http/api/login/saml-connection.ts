import { z } from "zod";

import { OutboundRefused } from "../../../platform/outbound/url.ts";
import type { Deps } from "../../core/deps.ts";
import type { Route } from "../../core/route.ts";
import { bool } from "../../core/schema.ts";
import { connectionRoutes, mustBeCertificates, sealedFor, wrongField } from "./connection.ts";
import { samlEndpoints } from "./saml-endpoint.ts";

const Address = z.url({ protocol: /^https?$/ }).max(2_000);
const optionalAddress = () => z.union([z.literal(""), Address]).nullish();

const NewConnection = z
  .object({
    name: z.string().trim().min(1).max(255),
    idpMetadataUrl: optionalAddress().meta({ example: "https://idp.example.org/metadata" }),
    idpIssuer: z.string().trim().min(1).max(1_024).meta({ example: "https://idp.example.org" }),
    idpInitiatedSsoUrl: optionalAddress().meta({ example: "https://idp.example.org/sso" }),
    cert: z.string().trim().min(1).max(65_536).meta({
      description: "X.509, as PEM or base64; several when the provider changes its key.",
      example: "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----",
    }),
    trustEmail: bool().default(false).meta({
      description: "Its e-mails are proved: accounts may be linked by them.",
    }),
  })
  .meta({ id: "NewSamlConnection" });

const ConnectionView = z
  .object({
    uuid: z.uuid(),
    name: z.string(),
    idpMetadataUrl: z.string(),
    idpIssuer: z.string(),
    cert: z.string(),
    idpInitiatedSsoUrl: z.string(),
    trustEmail: z.boolean(),
    isEnabled: z.boolean(),
    spEntityId: z.string().meta({ description: "What the provider knows this instance by." }),
    spMetadataUrl: z.string(),
    spAcsUrl: z.string().meta({ description: "Where the provider sends its answers." }),
  })
  .meta({ id: "SamlConnection" });

const path = "/admin/saml" as const;

export const samlConnectionRoutes: readonly Route[] = connectionRoutes({
  kind: "SAML",
  path,
  param: "samlUuid",
  statusPaths: [
    // Printed without the slash; both forms work, with and without the one at the end.
    `${path}/{samlUuid}change-status/`,
    `${path}/{samlUuid}change-status`,
    `${path}/{samlUuid}/change-status/`,
    `${path}/{samlUuid}/change-status`,
  ],
  list: "samlAdminApiModelList",
  body: NewConnection,
  view: ConnectionView,

  async detailsOf({ id, body }, deps) {
    const idpMetadataUrl = checkedMetadataUrl(body.idpMetadataUrl ?? "", deps);
    const idpInitiatedSsoUrl = body.idpInitiatedSsoUrl ?? "";
    if (idpMetadataUrl === "" && idpInitiatedSsoUrl === "") {
      const message = "Without a metadata address, this is where logins begin: it is needed.";
      throw wrongField("idpInitiatedSsoUrl", "saml.no_address", message);
    }
    mustBeCertificates("cert", body.cert, deps);
    const { sealed: cert, digest: certDigest } = await sealedFor(id, body.cert, deps);
    const { name, idpIssuer, trustEmail } = body;
    const addresses = { idpMetadataUrl, idpIssuer, idpInitiatedSsoUrl };
    return { kind: "SAML", name, trustEmail, ...addresses, cert, certDigest };
  },

  async viewOf({ id, details, enabled }, { vault, publicUrl }) {
    const { entityId, metadataUrl, acsUrl } = samlEndpoints(publicUrl, id);
    return {
      uuid: id,
      name: details.name,
      idpMetadataUrl: details.idpMetadataUrl,
      idpIssuer: details.idpIssuer,
      cert: (await vault.open(details.cert)) ?? "",
      idpInitiatedSsoUrl: details.idpInitiatedSsoUrl,
      trustEmail: details.trustEmail,
      isEnabled: enabled,
      spEntityId: entityId,
      spMetadataUrl: metadataUrl,
      spAcsUrl: acsUrl,
    };
  },
});

function checkedMetadataUrl(url: string, { checkUrl }: Pick<Deps, "checkUrl">): string {
  if (url === "") return "";
  try {
    return checkUrl(url).href;
  } catch (error) {
    if (!(error instanceof OutboundRefused)) throw error;
    throw wrongField("idpMetadataUrl", error.code, error.message);
  }
}
