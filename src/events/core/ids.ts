import { z } from "zod";

/** An id is taken in any case (RFC 9562, section 4); names of streams and stored ids have it in lower case. */
export const Uuid = z.uuid().toLowerCase();

/** Identifiers and names, parsed once at the edge and branded from there on. */
export const UserId = Uuid.brand("UserId");
export type UserId = z.output<typeof UserId>;

export const ProjectId = Uuid.brand("ProjectId");
export type ProjectId = z.output<typeof ProjectId>;

export const TeamId = Uuid.brand("TeamId");
export type TeamId = z.output<typeof TeamId>;

export const CompanyId = Uuid.brand("CompanyId");
export type CompanyId = z.output<typeof CompanyId>;

export const AccessTokenId = Uuid.brand("AccessTokenId");
export type AccessTokenId = z.output<typeof AccessTokenId>;

export const SessionId = Uuid.brand("SessionId");
export type SessionId = z.output<typeof SessionId>;

export const SshKeyId = Uuid.brand("SshKeyId");
export type SshKeyId = z.output<typeof SshKeyId>;

export const GpgKeyId = Uuid.brand("GpgKeyId");
export type GpgKeyId = z.output<typeof GpgKeyId>;

export const OAuthApplicationId = Uuid.brand("OAuthApplicationId");
export type OAuthApplicationId = z.output<typeof OAuthApplicationId>;

export const LoginConnectionId = Uuid.brand("LoginConnectionId");
export type LoginConnectionId = z.output<typeof LoginConnectionId>;

export const OAuthAuthorizationId = Uuid.brand("OAuthAuthorizationId");
export type OAuthAuthorizationId = z.output<typeof OAuthAuthorizationId>;

export const WebhookId = Uuid.brand("WebhookId");
export type WebhookId = z.output<typeof WebhookId>;

export const WebhookDeliveryId = Uuid.brand("WebhookDeliveryId");
export type WebhookDeliveryId = z.output<typeof WebhookDeliveryId>;

export const ReleaseId = Uuid.brand("ReleaseId");
export type ReleaseId = z.output<typeof ReleaseId>;

export const ReleaseFileId = Uuid.brand("ReleaseFileId");
export type ReleaseFileId = z.output<typeof ReleaseFileId>;

export const PackageId = Uuid.brand("PackageId");
export type PackageId = z.output<typeof PackageId>;

export const PackageVersionId = Uuid.brand("PackageVersionId");
export type PackageVersionId = z.output<typeof PackageVersionId>;

export const PackageFileId = Uuid.brand("PackageFileId");
export type PackageFileId = z.output<typeof PackageFileId>;

export const RegistryRepositoryId = Uuid.brand("RegistryRepositoryId");
export type RegistryRepositoryId = z.output<typeof RegistryRepositoryId>;

export const MergeRequestId = Uuid.brand("MergeRequestId");
export type MergeRequestId = z.output<typeof MergeRequestId>;

export const DiscussionId = Uuid.brand("DiscussionId");
export type DiscussionId = z.output<typeof DiscussionId>;

export const LfsLockId = Uuid.brand("LfsLockId");
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
  .union([z.iso.datetime({ offset: true }), z.iso.date()], {
    error: ({ input }) =>
      input === undefined || input === null
        ? undefined
        : "Give a time with its zone, such as 2026-01-02T03:04:05Z, or a day, such as 2026-01-02.",
  })
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
