import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, LoginConnectionId, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

/** Ways to authenticate elsewhere. */
export const ConnectionKind = z.enum(["SAML", "LDAP", "OIDC"]);
export type ConnectionKind = z.output<typeof ConnectionKind>;

/** What an administrator says of any of them. */
const common = {
  name: z.string(),
  /** The provider has verified the e-mails that it sends: accounts may be linked by them. */
  trustEmail: z.boolean(),
};

export const SamlDetails = z.object({
  ...common,
  kind: z.literal("SAML"),
  /** Where its metadata is; empty when it is not published. */
  idpMetadataUrl: z.string(),
  /** The entity id of the identity provider; compared letter by letter. */
  idpIssuer: z.string(),
  /** Where logins begin when there is no metadata; may be empty then. */
  idpInitiatedSsoUrl: z.string(),
  /** One certificate or more, as the administrator gave them. */
  cert: Sealed,
  /** Keyed digest of the certificates: shows a change without opening them. */
  certDigest: z.string(),
});

export const LdapDetails = z.object({
  ...common,
  kind: z.literal("LDAP"),
  /** `ldap://host:port` or `ldaps://host:port`. */
  url: z.string(),
  startTls: z.boolean(),
  /** Neither: passwords cross the network readable. */
  plaintext: z.boolean(),
  /** PEM of the authority that signed the directory's certificate; null for the public ones. */
  caCert: Sealed.nullable(),
  caCertDigest: z.string(),
  baseDn: z.string(),
  bindDn: z.string(),
  /** Null when the directory is searched anonymously. */
  bindPassword: Sealed.nullable(),
  bindPasswordDigest: z.string(),
  /** RFC 4515, with `{login}` in the place of what the person typed. */
  userFilter: z.string(),
  /** Names of the attributes that are read. */
  idAttribute: z.string(),
  aliasAttribute: z.string(),
  emailAttribute: z.string(),
  nameAttribute: z.string(),
  surnameAttribute: z.string(),
});

export const OidcDetails = z.object({
  ...common,
  kind: z.literal("OIDC"),
  /** Issuer identifier; its metadata is at `<issuer>/.well-known/openid-configuration`. */
  issuer: z.string(),
  clientId: z.string(),
  /** Null for a public client, which PKCE alone protects. */
  clientSecret: Sealed.nullable(),
  clientSecretDigest: z.string(),
  scopes: z.array(z.string()),
  /** Whether people without an account get one. */
  registers: z.boolean(),
});

export const ConnectionDetails = z.discriminatedUnion("kind", [
  SamlDetails,
  LdapDetails,
  OidcDetails,
]);
export type ConnectionDetails = Readonly<z.output<typeof ConnectionDetails>>;
export type SamlDetails = Readonly<z.output<typeof SamlDetails>>;
export type LdapDetails = Readonly<z.output<typeof LdapDetails>>;
export type OidcDetails = Readonly<z.output<typeof OidcDetails>>;

export const loginConnectionEvents = {
  /** Nobody logs in by it before it is enabled. */
  LoginConnectionCreated: z.object({
    connectionId: LoginConnectionId,
    details: ConnectionDetails,
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  LoginConnectionChanged: z.object({
    details: ConnectionDetails,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  LoginConnectionEnabled: z.object({ enabledById: UserId, enabledAt: IsoInstant }),
  LoginConnectionDisabled: z.object({ disabledById: UserId, disabledAt: IsoInstant }),
} as const satisfies EventSchemas;

export const loginConnectionStream = (id: string): string => streamName("loginConnection", id);

/** Names the vault key of a connection's certificates, passwords and secrets. */
export const loginConnectionSubject = (id: string): string => `connection-${id}`;
