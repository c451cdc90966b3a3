import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, PackageFileId, PackageId, PackageVersionId, UserId } from "../core/ids.ts";
import { StoredFile } from "../core/stored-file.ts";
import { streamName } from "../core/stream.ts";

/** Ecosystems whose packages are kept. */
export const PackageType = z.enum([
  "generic",
  "maven",
  "npm",
  "pypi",
  "nuget",
  "composer",
  "opm",
  "cargo",
  "conda",
  "container",
  "helm",
  "go",
  "debian",
  "rubygem",
  "rpm",
  "cran",
  "conan",
]);
export type PackageType = z.output<typeof PackageType>;

/** By which way a file came: a native client, a person, this interface. */
export const PackageUploadType = z.enum(["TRANSPORT", "MANUALLY", "API"]);
export type PackageUploadType = z.output<typeof PackageUploadType>;

/** The registry of the instance; every other one has a UUID. */
export const instanceRegistryId = "instance";

export const PackageFile = StoredFile.extend({
  fileId: PackageFileId,
  uploadType: PackageUploadType,
  /** What its own metadata requires of the language's version. */
  languageVersion: z.string().nullable(),
  /** JSON of what the indexes of its ecosystem show of it, made once when it was stored. */
  metadata: z.string().optional(),
});
export type PackageFile = Readonly<z.output<typeof PackageFile>>;

/** What a version is of. Spelled as it first was; see the ecosystem for what counts as the same. */
export const PackageCoordinates = z.object({
  packageId: PackageId,
  packageVersionId: PackageVersionId,
  registryId: z.string().min(1),
  packageType: PackageType,
  name: z.string().min(1),
  /** Scope, vendor or group; empty where there is none. */
  groupId: z.string(),
  artifactId: z.string().min(1),
  version: z.string().min(1),
});
export type PackageCoordinates = Readonly<z.output<typeof PackageCoordinates>>;

/** A package comes into being with its first version, a version with its first file. */
export const packageVersionEvents = {
  PackageVersionCreated: PackageCoordinates.extend({ createdById: UserId, createdAt: IsoInstant }),
  PackageFileStored: PackageFile.extend({
    packageId: PackageId,
    storedById: UserId,
    storedAt: IsoInstant,
  }),
  /** By a file of the same name with other content. */
  PackageFileReplaced: PackageFile.extend({
    packageId: PackageId,
    previousSha256: z.string(),
    replacedById: UserId,
    replacedAt: IsoInstant,
  }),
  /** It is gone for good; its version has others. */
  PackageFileDeleted: z.object({
    packageId: PackageId,
    fileId: PackageFileId,
    name: z.string(),
    deletedById: UserId,
    deletedAt: IsoInstant,
  }),
  /** It stays where it is and is not offered to new users: cargo, PEP 592. */
  PackageVersionYanked: z.object({
    packageId: PackageId,
    reason: z.string(),
    yankedById: UserId,
    yankedAt: IsoInstant,
  }),
  PackageVersionUnyanked: z.object({
    packageId: PackageId,
    unyankedById: UserId,
    unyankedAt: IsoInstant,
  }),
  /** Clients show the message when they install it; an empty one takes it back. */
  PackageVersionDeprecated: z.object({
    packageId: PackageId,
    message: z.string(),
    deprecatedById: UserId,
    deprecatedAt: IsoInstant,
  }),
  /** Out of sight, and can be restored for a time. */
  PackageVersionDeleted: z.object({
    packageId: PackageId,
    deletedById: UserId,
    deletedAt: IsoInstant,
  }),
  PackageVersionRestored: z.object({
    packageId: PackageId,
    restoredById: UserId,
    restoredAt: IsoInstant,
  }),
  /** The time for restoring it is over, and its files are gone; its name and version are free again. */
  PackageVersionPurged: z.object({ packageId: PackageId, purgedAt: IsoInstant }),
} as const satisfies EventSchemas;

export type PackageVersionEvent = EventOf<typeof packageVersionEvents>;

export const packageVersionStream = (id: string): string => streamName("packageVersion", id);
