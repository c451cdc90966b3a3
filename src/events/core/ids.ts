import { z } from "zod";

/** Identifiers and names, parsed once at the edge and branded from there on. */
export const UserId = z.uuid().brand("UserId");
export type UserId = z.output<typeof UserId>;

export const ProjectId = z.uuid().brand("ProjectId");
export type ProjectId = z.output<typeof ProjectId>;

export const TeamId = z.uuid().brand("TeamId");
export type TeamId = z.output<typeof TeamId>;

export const CompanyId = z.uuid().brand("CompanyId");
export type CompanyId = z.output<typeof CompanyId>;

export const AccessTokenId = z.uuid().brand("AccessTokenId");
export type AccessTokenId = z.output<typeof AccessTokenId>;

export const SessionId = z.uuid().brand("SessionId");
export type SessionId = z.output<typeof SessionId>;

export const SshKeyId = z.uuid().brand("SshKeyId");
export type SshKeyId = z.output<typeof SshKeyId>;

export const GpgKeyId = z.uuid().brand("GpgKeyId");
export type GpgKeyId = z.output<typeof GpgKeyId>;

export const OAuthApplicationId = z.uuid().brand("OAuthApplicationId");
export type OAuthApplicationId = z.output<typeof OAuthApplicationId>;

export const LoginConnectionId = z.uuid().brand("LoginConnectionId");
export type LoginConnectionId = z.output<typeof LoginConnectionId>;

export const OAuthAuthorizationId = z.uuid().brand("OAuthAuthorizationId");
export type OAuthAuthorizationId = z.output<typeof OAuthAuthorizationId>;

export const WebhookId = z.uuid().brand("WebhookId");
export type WebhookId = z.output<typeof WebhookId>;

export const WebhookDeliveryId = z.uuid().brand("WebhookDeliveryId");
export type WebhookDeliveryId = z.output<typeof WebhookDeliveryId>;

export const ReleaseId = z.uuid().brand("ReleaseId");
export type ReleaseId = z.output<typeof ReleaseId>;

export const ReleaseFileId = z.uuid().brand("ReleaseFileId");
export type ReleaseFileId = z.output<typeof ReleaseFileId>;

export const PackageId = z.uuid().brand("PackageId");
export type PackageId = z.output<typeof PackageId>;

export const PackageVersionId = z.uuid().brand("PackageVersionId");
export type PackageVersionId = z.output<typeof PackageVersionId>;

export const PackageFileId = z.uuid().brand("PackageFileId");
export type PackageFileId = z.output<typeof PackageFileId>;

export const RegistryRepositoryId = z.uuid().brand("RegistryRepositoryId");
export type RegistryRepositoryId = z.output<typeof RegistryRepositoryId>;

export const MergeRequestId = z.uuid().brand("MergeRequestId");
export type MergeRequestId = z.output<typeof MergeRequestId>;

export const DiscussionId = z.uuid().brand("DiscussionId");
export type DiscussionId = z.output<typeof DiscussionId>;

export const LfsLockId = z.uuid().brand("LfsLockId");
export type LfsLockId = z.output<typeof LfsLockId>;

/** SHA-256 of an LFS object's content, in lower case hex. */
export const LfsOid = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .brand("LfsOid");
export type LfsOid = z.output<typeof LfsOid>;

/** Full object id: 40 hex digits (SHA-1) or 64 (SHA-256), lower case. */
export const ObjectId = z
  .string()
  .regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/)
  .brand("ObjectId");
export type ObjectId = z.output<typeof ObjectId>;

/**
 * What a person gives as a time: an instant with its zone, or a day, which begins in UTC. In UTC its year is one of
 * 1 to 9999, which a zone can leave: PostgreSQL has no year 0, and ISO 8601 writes later years in another form.
 */
export const InstantOrDay = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()])
  .refine(
    (text) => /^(?!0000)\d{4}-/.test(new Date(text).toISOString()),
    "Not a time of the years 1 to 9999.",
  );

/** ISO 8601 in UTC with milliseconds. */
export const IsoInstant = z.iso.datetime({ precision: 3 });

/**
 * Alias of a user, team, company or project: 2–64 of `[A-Za-z0-9._-]`, starting with a letter or
 * digit, not ending in `.git` or a dot, without `..`.
 */
export const Alias = z
  .string()
  .min(2)
  .max(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "Use letters, digits, dot, underscore and dash.")
  .refine((alias) => !/\.git$|\.$|\.\./i.test(alias), "It may not end in .git or a dot.")
  .brand("Alias");
export type Alias = z.output<typeof Alias>;

/** Aliases are unique without regard to case. */
export const normaliseAlias = (alias: string): string => alias.toLowerCase();
