import { z } from "zod";

import type { SamlIdentity } from "../../../platform/identity/saml.ts";
import type { ConnectionOf } from "../../../projections/login/connection.ts";
import type { ExternalPerson } from "../../page/login/external-account.ts";

export const SamlPerson = z.object({
  subject: z.tuple([z.string(), z.string()]).readonly(),
  email: z.string().nullable(),
  emailVerified: z.boolean(),
  aliasWish: z.string(),
  name: z.string().nullable(),
  surname: z.string().nullable(),
});

/** The names that attributes go by: plain, as an OID (eduPerson, inetOrgPerson), and Microsoft's. */
const claims = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims";
const attributeNames = {
  email: ["email", "mail", "urn:oid:0.9.2342.19200300.100.1.3", `${claims}/emailaddress`],
  alias: ["username", "uid", "urn:oid:0.9.2342.19200300.100.1.1", `${claims}/name`],
  name: ["givenName", "firstName", "urn:oid:2.5.4.42", `${claims}/givenname`],
  surname: ["sn", "surname", "lastName", "urn:oid:2.5.4.4", `${claims}/surname`],
} as const;

const emailFormat = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";

export function personOf(
  { details }: ConnectionOf<"SAML">,
  identity: SamlIdentity,
): ExternalPerson {
  const first = (names: readonly string[]): string | null => {
    for (const name of names) {
      const value = identity.attributes.get(name);
      if (value !== undefined) return value;
    }
    return null;
  };
  const named = identity.nameIdFormat === emailFormat ? identity.nameId : null;
  const email = first(attributeNames.email) ?? named;
  const alias = first(attributeNames.alias) ?? email ?? identity.nameId;
  return {
    subject: [details.idpIssuer, identity.subject],
    email,
    // SAML has no word for it: the administrator says for the connection whether it is.
    emailVerified: true,
    aliasWish: alias.split("@")[0] ?? "",
    name: first(attributeNames.name),
    surname: first(attributeNames.surname),
  };
}
