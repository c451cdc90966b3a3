import type { PackageFileId, PackageId, PackageVersionId } from "../../events/core/ids.ts";
import type { PackageType, PackageUploadType } from "../../events/package/version.ts";
import { type Change, statement } from "../core/change.ts";
import { defineTable } from "../core/table.ts";
import type { FileColumns } from "./file-column.ts";
import { fileBytes, livePackages, liveVersions } from "./total.ts";

export type PackageRow = Readonly<{
  id: PackageId;
  registry_id: string;
  type: PackageType;
  name: string;
  group_id: string;
  artifact_id: string;
  /** How many of its versions are not deleted. */
  live_versions: bigint;
}>;

export type StoredVersion = Readonly<{
  id: PackageVersionId;
  package_id: PackageId;
  /** Of its package. */
  registry_id: string;
  version: string;
  language_version: string | null;
  /** Of its creation in the log. */
  created_position: bigint;
  /** Of the last change of what indexes show of it. */
  changed_position: bigint;
  created_at: Date;
  /** Null: it is not yanked. */
  yank_reason: string | null;
  /** Empty: it is not deprecated. */
  deprecation: string;
  deleted_at: Date | null;
}>;

export type PackageFileRow = FileColumns &
  Readonly<{
    id: PackageFileId;
    package_version_id: PackageVersionId;
    name: string;
    bytes: bigint;
    md5: string;
    sha1: string;
    sha256: string;
    sha512: string;
    metadata: string | null;
    upload_type: PackageUploadType;
    /** Of its content. */
    created_at: Date;
  }>;

type StoredPackage = PackageRow &
  Readonly<{
    /** When a version last went for good or began anew, which changes the order of the others. */
    reset_position: bigint;
    /** Changes seldom, so that most changes of the number of versions touch no index. */
    is_live: boolean;
    /** Position and time of the last change of what indexes show of it. */
    revision: bigint;
    changed_at: Date | null;
  }>;

export const packages = defineTable<StoredPackage>({
  name: "package",
  columns: {
    id: "uuid",
    registry_id: "text",
    type: "text",
    name: "text",
    group_id: "text",
    artifact_id: "text",
    reset_position: "bigint default 0",
    live_versions: "bigint default 0",
    is_live: "boolean default false",
    revision: "bigint default 0",
    changed_at: "timestamptz null",
  },
  key: ["id"],
  // Its name stays as it was first spelled.
  kept: ["registry_id", "type", "name", "group_id", "artifact_id"],
  indexes: ["(registry_id)"],
  lateIndexes: ["(registry_id, name, id) where is_live"],
  counts: [{ table: livePackages, where: "is_live" }],
});

export const versions = defineTable<StoredVersion>({
  name: "package_version",
  columns: {
    id: "uuid",
    package_id: "uuid",
    registry_id: "text",
    version: "text",
    language_version: "text null",
    created_position: "bigint",
    changed_position: "bigint",
    created_at: "timestamptz",
    yank_reason: "text null",
    deprecation: "text",
    deleted_at: "timestamptz null",
  },
  key: ["id"],
  indexes: ["(package_id, created_position, id)"],
  lateIndexes: [
    "(package_id, changed_position)",
    "(deleted_at) where deleted_at is not null",
    "(registry_id, deleted_at, id) where deleted_at is not null",
  ],
  counts: [{ table: liveVersions, where: "deleted_at is null" }],
});

type StoredFile = PackageFileRow &
  Readonly<{
    package_id: PackageId;
    /** Null only until the batch of events that brings it is written. */
    registry_id: string | null;
  }>;

export const files = defineTable<StoredFile>({
  name: "package_file",
  columns: {
    id: "uuid",
    package_version_id: "uuid",
    package_id: "uuid",
    registry_id: "text null",
    name: "text",
    bytes: "bigint",
    md5: "text",
    sha1: "text",
    sha256: "text",
    sha512: "text",
    metadata: "text null",
    shown: "text null",
    symbol: "text null",
    unreadable: "text null",
    upload_type: "text",
    created_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(package_version_id, name)", "(package_id, name, id)"],
  lateIndexes: [
    "(sha256)",
    "(symbol) where symbol is not null",
    "(unreadable) where unreadable is not null",
  ],
  counts: [{ table: fileBytes, where: "registry_id is not null", sum: "bytes" }],
});

export const tags = defineTable<Readonly<{ package_id: PackageId; tag: string; version: string }>>({
  name: "package_tag",
  columns: { package_id: "uuid", tag: "text", version: "text" },
  key: ["package_id", "tag"],
});

/** Whose a registry is, so that its packages go with the owner. */
export const registries = defineTable<
  Readonly<{
    id: string;
    owner_id: string;
    /** Position and time of the last change of what its indexes show. */
    revision: bigint;
    changed_at: Date | null;
  }>
>({
  name: "package_registry",
  columns: {
    id: "text",
    owner_id: "text",
    revision: "bigint default 0",
    changed_at: "timestamptz null",
  },
  key: ["id"],
  indexes: ["(owner_id)"],
});

export const packageTables = [
  packages,
  versions,
  files,
  tags,
  registries,
  livePackages,
  liveVersions,
  fileBytes,
] as const;

/** Removes registries with everything in them. */
export const dropRegistries = (column: "id" | "owner_id", value: string): Change =>
  statement(
    `with registry as (delete from package_registry where ${column} = ? returning id),
       gone as (
         delete from package where registry_id in (select id from registry) returning id),
       version as (delete from package_version where package_id in (select id from gone)),
       file as (delete from package_file where package_id in (select id from gone))
     delete from package_tag where package_id in (select id from gone)`,
    [value],
  );
