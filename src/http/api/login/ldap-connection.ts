import { z } from "zod";

import { sameDestination } from "../../../commands/core/destination.ts";
import type { LdapDetails } from "../../../events/login/connection.ts";
import { filterMistake } from "../../../platform/identity/directory.ts";
import { DirectoryRefused } from "../../../platform/identity/directory-address.ts";
import type { Deps } from "../../core/deps.ts";
import type { Route } from "../../core/route.ts";
import { bool } from "../../core/schema.ts";
import {
  type ConnectionInput,
  connectionRoutes,
  mustBeCertificates,
  sealedFor,
  wrongField,
} from "./connection.ts";

/** RFC 4512: it becomes part of a filter. */
const attribute = (usual: string) =>
  z
    .string()
    .max(255)
    .regex(/^(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)*)$/, "This is not an attribute's name")
    .default(usual);
const optionalAttribute = (usual: string) =>
  z.union([z.literal(""), attribute(usual)]).default(usual);

/** A name without `=` would be taken for a SASL mechanism. */
const Dn = z.string().trim().max(1_024).regex(/=/, "This is not a distinguished name");

const NewConnection = z
  .object({
    name: z.string().trim().min(1).max(255),
    url: z.string().trim().min(1).max(512).meta({ example: "ldaps://ldap.example.org:636" }),
    startTls: bool().default(false),
    plaintext: bool().default(false).meta({
      description: "Passwords may cross the network readable: neither ldaps nor StartTLS is used.",
    }),
    caCert: z.string().max(65_536).default("").meta({
      description: "PEM of the authority to trust; empty for the public ones.",
      example: "",
    }),
    baseDn: Dn.meta({ example: "ou=people,dc=example,dc=org" }),
    bindDn: z
      .union([z.literal(""), Dn])
      .default("")
      .meta({
        description: "Who searches; empty: anybody may.",
        example: "cn=reader,dc=example,dc=org",
      }),
    bindPassword: z.string().max(1_024).nullish().meta({
      description: "Never shown. Left out of a change, it stays.",
      example: "secret",
    }),
    userFilter: z.string().trim().max(2_048).default("(&(objectClass=person)(uid={login}))"),
    idAttribute: attribute("entryUUID").meta({
      description: "What never changes about an entry; objectGUID in Active Directory.",
    }),
    aliasAttribute: optionalAttribute("uid"),
    emailAttribute: optionalAttribute("mail"),
    nameAttribute: optionalAttribute("givenName"),
    surnameAttribute: optionalAttribute("sn"),
    trustEmail: bool().default(false).meta({
      description: "Its e-mails are proved: accounts may be linked by them.",
    }),
  })
  .meta({ id: "NewLdapConnection" });

const ConnectionView = z
  .object({
    uuid: z.uuid(),
    name: z.string(),
    url: z.string(),
    startTls: z.boolean(),
    plaintext: z.boolean(),
    caCert: z.string(),
    baseDn: z.string(),
    bindDn: z.string(),
    hasBindPassword: z.boolean(),
    userFilter: z.string(),
    idAttribute: z.string(),
    aliasAttribute: z.string(),
    emailAttribute: z.string(),
    nameAttribute: z.string(),
    surnameAttribute: z.string(),
    trustEmail: z.boolean(),
    isEnabled: z.boolean(),
  })
  .meta({ id: "LdapConnection" });

const path = "/admin/ldap" as const;

export const ldapConnectionRoutes: readonly Route[] = connectionRoutes({
  kind: "LDAP",
  path,
  param: "ldapUuid",
  statusPaths: [`${path}/{ldapUuid}/change-status`],
  list: "ldapAdminApiModelList",
  body: NewConnection,
  view: ConnectionView,

  async detailsOf(input, deps) {
    const { caCert: _c, bindPassword: _p, ...plain } = input.body;
    mustBeReachable(plain, deps);
    const mistake = await filterMistake(plain.userFilter);
    if (mistake !== undefined) throw wrongField("userFilter", "ldap.filter_invalid", mistake);
    return {
      kind: "LDAP",
      ...plain,
      ...(await sealedCa(input, deps)),
      ...(await sealedBind(input, deps)),
    };
  },

  async viewOf({ id, details, enabled }, { vault }) {
    const { caCert, bindPassword } = details;
    return {
      ...details,
      uuid: id,
      caCert: caCert === null ? "" : ((await vault.open(caCert)) ?? ""),
      hasBindPassword: bindPassword !== null,
      isEnabled: enabled,
    };
  },
});

type Body = z.output<typeof NewConnection>;

function mustBeReachable(
  { url, startTls, plaintext }: Pick<Body, "url" | "startTls" | "plaintext">,
  { directory }: Pick<Deps, "directory">,
): void {
  try {
    const { secure } = directory.checkUrl(url);
    if (secure && startTls) {
      throw wrongField("startTls", "ldap.tls_twice", "ldaps:// is under TLS already.");
    }
    if (secure || startTls || plaintext) return;
    const message =
      "Use ldaps:// or StartTLS, or say with plaintext that readable passwords are meant.";
    throw wrongField("url", "ldap.insecure", message);
  } catch (error) {
    if (!(error instanceof DirectoryRefused)) throw error;
    throw wrongField("url", error.code, error.message);
  }
}

async function sealedCa(
  { id, body }: ConnectionInput<"LDAP", typeof NewConnection>,
  deps: Deps,
): Promise<Pick<LdapDetails, "caCert" | "caCertDigest">> {
  if (body.caCert.trim() === "") return { caCert: null, caCertDigest: "" };
  mustBeCertificates("caCert", body.caCert, deps);
  const { sealed, digest } = await sealedFor(id, body.caCert.trim(), deps);
  return { caCert: sealed, caCertDigest: digest };
}

const destination = ["url", "bindDn", "startTls", "plaintext"] as const;
type Destination = Pick<LdapDetails, (typeof destination)[number]>;

/** A password that is not sent again stays. */
async function sealedBind(
  { id, body, before }: ConnectionInput<"LDAP", typeof NewConnection>,
  deps: Deps,
): Promise<Pick<LdapDetails, "bindPassword" | "bindPasswordDigest">> {
  const { bindDn, bindPassword: sent } = body;
  // A stored password must go only to its former address: otherwise a user who changes the address reads it.
  const stays = sent === undefined || sent === null;
  if (stays && before !== undefined && before.details.bindPassword !== null) {
    const { bindPassword, bindPasswordDigest } = before.details;
    if (!sameDestination<Destination>(before.details, body, destination)) {
      const message =
        "Give the password again: its address, its encryption or the name it belongs to changes.";
      throw wrongField("bindPassword", "ldap.password_needed", message);
    }
    return { bindPassword, bindPasswordDigest };
  }
  const password = sent ?? "";
  if ((password === "") !== (bindDn === "")) {
    const message = "A name and its password belong together.";
    throw wrongField("bindPassword", "ldap.password_needed", message);
  }
  if (password === "") return { bindPassword: null, bindPasswordDigest: "" };
  const { sealed, digest } = await sealedFor(id, password, deps);
  return { bindPassword: sealed, bindPasswordDigest: digest };
}
