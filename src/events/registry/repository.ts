import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, RegistryRepositoryId, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";
import { PackageType } from "../package/version.ts";

export const RegistryOwnerType = z.enum(["PROJECT", "COMPANY", "INSTANCE"]);
export type RegistryOwnerType = z.output<typeof RegistryOwnerType>;

/** The owner of the repositories of the instance. */
export const instanceOwnerId = "instance";

export const RegistryOwner = z.object({
  ownerType: RegistryOwnerType,
  /** Id of a project or a company, or `instance`. */
  ownerId: z.string().min(1),
});
export type RegistryOwner = Readonly<z.output<typeof RegistryOwner>>;

/** NONE: a stored file never gets another content. */
export const PackageReuploadType = z.enum(["NONE", "OVERRIDE"]);
export type PackageReuploadType = z.output<typeof PackageReuploadType>;

export const LocalSettings = z.object({
  type: z.literal("LOCAL"),
  hasAnonymousAccess: z.boolean(),
  isDeletePackageAllowed: z.boolean(),
  packageReuploadType: PackageReuploadType,
});
export type LocalSettings = Readonly<z.output<typeof LocalSettings>>;

export const ProxySettings = z.object({
  type: z.literal("PROXY"),
  url: z.string().min(1),
  username: Sealed.nullable(),
  token: Sealed.nullable(),
  isCaching: z.boolean(),
  /** Only what is cached is served. */
  isOffline: z.boolean(),
  /** A cached file that is not requested for so long is dropped; 0: never. */
  expireHours: z.int().nonnegative(),
  /** An index is fetched again after so long; 0: each time. */
  metadataRetrievalIntervalSeconds: z.int().nonnegative(),
});
export type ProxySettings = Readonly<z.output<typeof ProxySettings>>;

export const VirtualSettings = z.object({
  type: z.literal("VIRTUAL"),
  /** In the order in which they are searched. */
  includedRepositoryIds: z.array(RegistryRepositoryId),
  /** Whether proxies among them are queried. */
  allowRemoteProxying: z.boolean(),
  /** The local repository that takes uploads. */
  deploymentRepositoryId: RegistryRepositoryId.nullable(),
});
export type VirtualSettings = Readonly<z.output<typeof VirtualSettings>>;

export const RepositorySettings = z.discriminatedUnion("type", [
  LocalSettings,
  ProxySettings,
  VirtualSettings,
]);
export type RepositorySettings = Readonly<z.output<typeof RepositorySettings>>;

const Configuration = z.object({
  description: z.string().nullable(),
  settings: RepositorySettings,
});

export const registryRepositoryEvents = {
  RegistryRepositoryCreated: RegistryOwner.extend({
    repositoryId: RegistryRepositoryId,
    name: z.string().min(1),
    packageType: PackageType,
    ...Configuration.shape,
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  RegistryRepositoryReconfigured: Configuration.extend({
    previous: Configuration,
    reconfiguredById: UserId,
    reconfiguredAt: IsoInstant,
  }),
  /** With all packages in it. */
  RegistryRepositoryDeleted: z.object({ deletedById: UserId, deletedAt: IsoInstant }),
} as const satisfies EventSchemas;

export type RegistryRepositoryEvent = EventOf<typeof registryRepositoryEvents>;

export const registryRepositoryStream = (id: string): string =>
  streamName("registryRepository", id);
