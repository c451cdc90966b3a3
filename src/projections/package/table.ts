import type { PackageFileId, PackageId, PackageVersionId, UserId } from "../../events/core/ids.ts";
import type { PackageType, PackageUploadType } from "../../events/package/version.ts";
import { type Change, statement } from "../core/change.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { fileBytes, livePackages, liveVersions } from "./total.ts";

export const packages = defineTable({
  name: "package",
  columns: {
    id: column<PackageId>("uuid"),
    registry_id: "text",
    type: column<PackageType>("text"),
    name: "text",
    group_id: "text",
    artifact_id: "text",
    /** When a version last went for good or began anew, which changes the order of the others. */
    reset_position: "bigint default 0",
    /** How many of its versions are not deleted. */
    live_versions: "bigint default 0",
    /** Changes seldom, so that most changes of the number of versions touch no index. */
    is_live: "boolean default false",
    /** Position and time of the last change of what indexes show of it. */
    revision: "bigint default 0",
    changed_at: "timestamptz null",
  },
  key: ["id"],
  // Its name stays as it was first spelled.
  writtenOnce: ["registry_id", "type", "name", "group_id", "artifact_id"],
  indexes: ["(registry_id)"],
  lateIndexes: ["(registry_id, name, id) where is_live"],
  counts: [{ table: livePackages, where: "is_live" }],
});

export type PackageRow = RowOf<typeof packages>;

export const versions = defineTable({
  name: "package_version",
  columns: {
    id: column<PackageVersionId>("uuid"),
    package_id: column<PackageId>("uuid"),
    /** Of its package. */
    registry_id: "text",
    version: "text",
    language_version: "text null",
    /** Of its creation in the log. */
    created_position: "bigint",
    /** Of the last change of what indexes show of it. */
    changed_position: "bigint",
    created_at: "timestamptz",
    created_by_id: column<UserId | null>("uuid null"),
    /** Null: it is not yanked. */
    yank_reason: "text null",
    /** Empty: it is not deprecated. */
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

export type StoredVersion = RowOf<typeof versions>;

export const files = defineTable({
  name: "package_file",
  columns: {
    id: column<PackageFileId>("uuid"),
    package_version_id: column<PackageVersionId>("uuid"),
    package_id: column<PackageId>("uuid"),
    /** Null only until the batch of events that brings it is written. */
    registry_id: "text null",
    name: "text",
    bytes: "bigint",
    md5: "text",
    sha1: "text",
    sha256: "text",
    sha512: "text",
    metadata: "text null",
    /** What indexes show of a file of PyPI, whose metadata holds a long text; null: all of it. */
    shown: "text null",
    /** The key by which debuggers request a file of symbols; null: it is another. */
    symbol: "text null",
    /** What searches read, see `Searched`; null: its registry is not searched, or it is no package. */
    words: "text null",
    traits: "text null",
    /** Why the client of the ecosystem cannot parse it, which keeps it out of indexes; null: it can. */
    unreadable: "text null",
    upload_type: column<PackageUploadType>("text"),
    /** Of its content. */
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

export type PackageFileRow = RowOf<typeof files>;

export const tags = defineTable({
  name: "package_tag",
  columns: { package_id: column<PackageId>("uuid"), tag: "text", version: "text" },
  key: ["package_id", "tag"],
});

/** Whose a registry is, so that its packages go with the owner. */
export const registries = defineTable({
  name: "package_registry",
  columns: {
    id: "text",
    owner_id: "text",
    /** Position and time of the last change of what its indexes show. */
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
