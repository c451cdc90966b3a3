import type { Knex } from "knex";

import type { PackageFileId, PackageId, PackageVersionId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { packageTagEvents } from "../../events/package/tag.ts";
import {
  type PackageFile,
  type PackageType,
  type PackageUploadType,
  packageVersionEvents,
} from "../../events/package/version.ts";
import { registryRepositoryEvents } from "../../events/registry/repository.ts";
import { companyEvents } from "../../events/team/company.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { purgeEvents } from "../core/purge.ts";
import type { Slice } from "../user/user.ts";
import { columnsOf, type FileColumns, type FileOwner } from "./file-column.ts";
import { createTotal, liveCount, moveTotal, removeFiles } from "./total.ts";

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

type StoredVersion = Readonly<{
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

export type PackageVersionRow = StoredVersion & Readonly<{ files: readonly PackageFileRow[] }>;

const { CompanyDeleted } = companyEvents;
const { RegistryRepositoryCreated, RegistryRepositoryDeleted } = registryRepositoryEvents;

export const packageVersionProjection = defineProjection({
  name: "package_version",
  version: 9,
  tables: [
    "package",
    "package_version",
    "package_file",
    "package_tag",
    "package_registry",
    "package_total",
  ],
  async create(tx) {
    await tx.schema.createTable("package", (table) => {
      table.uuid("id").primary();
      table.text("registry_id").notNullable();
      table.text("type").notNullable();
      table.text("name").notNullable();
      table.text("group_id").notNullable();
      table.text("artifact_id").notNullable();
      // When a version last went for good or began anew, which changes the order of the others.
      table.bigInteger("reset_position").notNullable().defaultTo(0);
      table.bigInteger("live_versions").notNullable().defaultTo(0);
      // Changes seldom, so that most changes of the number touch no index.
      table.boolean("is_live").notNullable().defaultTo(false);
      table.index(["registry_id"]);
    });
    await tx.raw("create index on package (registry_id, name, id) where is_live");
    await createTotal(tx);
    await tx.schema.createTable("package_version", (table) => {
      table.uuid("id").primary();
      table.uuid("package_id").notNullable();
      table.text("registry_id").notNullable();
      table.text("version").notNullable();
      table.text("language_version");
      table.bigInteger("created_position").notNullable();
      table.bigInteger("changed_position").notNullable();
      table.timestamp("created_at").notNullable();
      table.text("yank_reason");
      table.text("deprecation").notNullable();
      table.timestamp("deleted_at");
      table.index(["package_id", "created_position", "id"]);
      table.index(["package_id", "changed_position"]);
    });
    for (const columns of ["deleted_at", "registry_id, deleted_at, id"])
      await tx.raw(`create index on package_version (${columns}) where deleted_at is not null`);
    await tx.schema.createTable("package_tag", (table) => {
      table.uuid("package_id").notNullable();
      table.text("tag").notNullable();
      table.text("version").notNullable();
      table.primary(["package_id", "tag"]);
    });
    // Whose a registry is, so that its packages go with the owner.
    await tx.schema.createTable("package_registry", (table) => {
      table.text("id").primary();
      table.text("owner_id").notNullable().index();
      // Position and time of the last change of what its indexes show.
      table.bigInteger("revision").notNullable().defaultTo(0);
      table.timestamp("changed_at");
    });
    await tx.schema.createTable("package_file", (table) => {
      table.uuid("id").primary();
      table.uuid("package_version_id").notNullable();
      table.uuid("package_id").notNullable();
      table.text("name").notNullable();
      table.bigInteger("bytes").notNullable();
      table.text("md5").notNullable();
      table.text("sha1").notNullable();
      table.text("sha256").notNullable().index();
      table.text("sha512").notNullable();
      table.text("metadata");
      table.text("shown");
      table.text("symbol");
      table.text("unreadable");
      table.text("upload_type").notNullable();
      table.timestamp("created_at").notNullable();
      table.index(["package_version_id", "name"]);
      table.index(["package_id", "name", "id"]);
    });
    for (const column of ["symbol", "unreadable"])
      await tx.raw(`create index on package_file (${column}) where ${column} is not null`);
  },
  events: {
    ...packageVersionEvents,
    ...packageTagEvents,
    ...purgeEvents,
    CompanyDeleted,
    RegistryRepositoryCreated,
    RegistryRepositoryDeleted,
  },
  handlers: {
    RegistryRepositoryCreated: async (tx, { data: { repositoryId: id, ownerId } }) => {
      await tx("package_registry").insert({ id, owner_id: ownerId }).onConflict("id").merge();
    },
    RegistryRepositoryDeleted: (tx, { stream }) => dropRegistries(tx, { id: idInStream(stream) }),
    ProjectPurged: (tx, { data }) => dropRegistries(tx, { owner_id: data.projectId }),
    CompanyDeleted: (tx, { stream }) => dropRegistries(tx, { owner_id: idInStream(stream) }),
    PackageTagSet: async (tx, { data: { packageId: package_id, tag, version } }) => {
      const row = { package_id, tag, version };
      await tx("package_tag").insert(row).onConflict(["package_id", "tag"]).merge();
    },
    PackageTagRemoved: async (tx, { data: { packageId: package_id, tag } }) => {
      await tx("package_tag").where({ package_id, tag }).delete();
    },
    PackageVersionYanked: (tx, { stream, position, data }) =>
      changeVersion(tx, stream, { yank_reason: data.reason }, [data, position, data.yankedAt]),
    PackageVersionUnyanked: (tx, { stream, position, data }) =>
      changeVersion(tx, stream, { yank_reason: null }, [data, position, data.unyankedAt]),
    PackageVersionDeprecated: (tx, { stream, position, data }) =>
      changeVersion(tx, stream, { deprecation: data.message }, [data, position, data.deprecatedAt]),
    PackageVersionDeleted: (tx, { stream, position, data }) => {
      const deleted_at = new Date(data.deletedAt);
      return moveVersion(tx, stream, { deleted_at }, [data, position, data.deletedAt]);
    },
    PackageVersionRestored: (tx, { stream, position, data }) =>
      moveVersion(tx, stream, { deleted_at: null }, [data, position, data.restoredAt]),
    // The package stays: a proxy never serves what once had this name here.
    PackageVersionPurged: async (tx, { stream, position, data }) => {
      const id = idInStream(stream);
      const live = -(await liveCount(tx, id));
      await tx("package_version").where({ id }).delete();
      const bytes = -(await removeFiles(tx, { package_version_id: id }));
      await moveTotal(tx, data.packageId, { live, bytes });
      await reset(tx, data.packageId, position);
      await touch(tx, [data, position, data.purgedAt]);
    },
    PackageVersionCreated: async (tx, { position, data }) => {
      const { packageId, packageVersionId, version } = data;
      const ofPackage = {
        id: packageId,
        registry_id: data.registryId,
        type: data.packageType,
        name: data.name,
        group_id: data.groupId,
        artifact_id: data.artifactId,
      };
      // Its name stays as it was first spelled.
      await tx<PackageRow>("package").insert(ofPackage).onConflict("id").ignore();
      const state = { yank_reason: null, deprecation: "", deleted_at: null };
      const created_at = new Date(data.createdAt);
      const parents = { package_id: packageId, registry_id: data.registryId };
      const of = { id: packageVersionId, ...parents, version, created_at };
      const row = { ...of, ...state, language_version: null };
      // One that was deleted begins anew, without the files it had.
      const gone: readonly Pick<StoredVersion, "deleted_at">[] = await tx("package_version")
        .where("id", packageVersionId)
        .delete()
        .returning("deleted_at");
      if (gone.length > 0) await reset(tx, packageId, position);
      const bytes = -(await removeFiles(tx, { package_version_id: packageVersionId }));
      const live = gone.some(({ deleted_at }) => deleted_at === null) ? 0 : 1;
      await moveTotal(tx, packageId, { live, bytes });
      await tx<StoredVersion>("package_version").insert({
        ...row,
        created_position: position,
        changed_position: position,
      });
    },
    PackageFileStored: async (tx, { stream, position, data }) => {
      await putFile(tx, stream, data, [position, data.storedAt]);
      await touch(tx, [data, position, data.storedAt]);
    },
    PackageFileReplaced: async (tx, { stream, position, data }) => {
      await putFile(tx, stream, data, [position, data.replacedAt]);
      await touch(tx, [data, position, data.replacedAt]);
    },
  },
});

async function putFile(
  tx: Tx,
  stream: string,
  file: PackageFile & Readonly<{ packageId: PackageId }>,
  [changed_position, at]: readonly [position: bigint, at: string],
): Promise<void> {
  const id = idInStream(stream);
  const { fileId, name, bytes, md5, sha1, sha256, sha512, uploadType: upload_type } = file;
  const of = { package_version_id: id, package_id: file.packageId };
  const { metadata = null } = file;
  const columns = await columnsOf(file, () => ownerOf(tx, id));
  const content = { bytes, md5, sha1, sha256, sha512, metadata, ...columns, upload_type };
  const row = { id: fileId, ...of, name, ...content, created_at: new Date(at) };
  const former = await removeFiles(tx, { id: fileId });
  await tx("package_file").insert(row);
  await moveTotal(tx, file.packageId, { live: 0, bytes: BigInt(bytes) - former });
  const { languageVersion: language_version } = file;
  const change = { changed_position, ...(language_version !== null && { language_version }) };
  await tx<StoredVersion>("package_version").where("id", id).update(change);
}

async function ownerOf(tx: Tx, versionId: string): Promise<FileOwner | undefined> {
  const [row] = await tx("package_version as version")
    .join("package", "package.id", "version.package_id")
    .where("version.id", versionId)
    .select<FileOwner[]>("package.type", "package.name", "version.version");
  return row;
}

async function changeVersion(
  tx: Tx,
  stream: string,
  change: Partial<StoredVersion>,
  changed: Changed,
): Promise<void> {
  const [, changed_position] = changed;
  await tx<StoredVersion>("package_version")
    .where("id", idInStream(stream))
    .update({ ...change, changed_position });
  await touch(tx, changed);
}

/** The same for a change by which it becomes deleted, or no longer is. */
async function moveVersion(
  tx: Tx,
  stream: string,
  change: Pick<StoredVersion, "deleted_at">,
  changed: Changed,
): Promise<void> {
  const id = idInStream(stream);
  const before = await liveCount(tx, id);
  await changeVersion(tx, stream, change, changed);
  const live = (await liveCount(tx, id)) - before;
  await moveTotal(tx, changed[0].packageId, { live, bytes: 0n });
}

type Changed = readonly [of: Readonly<{ packageId: PackageId }>, position: bigint, at: string];

async function reset(tx: Tx, packageId: PackageId, position: bigint): Promise<void> {
  await tx("package").where("id", packageId).update({ reset_position: position });
}

async function touch(tx: Tx, [{ packageId }, position, at]: Changed): Promise<void> {
  const registry = tx("package").where("id", packageId).select("registry_id");
  await tx("package_registry")
    .whereRaw("id = (?)", [registry])
    .update({ revision: position, changed_at: new Date(at) });
}

async function dropRegistries(
  tx: Tx,
  which: Readonly<{ id: string } | { owner_id: string }>,
): Promise<void> {
  const registries = () => tx("package_registry").where(which).select("id");
  const packages = () => tx("package").whereIn("registry_id", registries()).select("id");
  for (const table of ["package_file", "package_version", "package_tag"]) {
    await tx(table).whereIn("package_id", packages()).delete();
  }
  for (const table of ["package", "package_total"])
    await tx(table).whereIn("registry_id", registries()).delete();
  await tx("package_registry").where(which).delete();
}

type Page = Readonly<{ limit: number; offset: number }>;

/** The newest version of each package, by the package's id; without those that are deleted. */
export async function newestVersions(
  db: Knex,
  packageIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.raw<{ rows: readonly Pick<StoredVersion, "package_id" | "version">[] }>(
    `select package_id, version from unnest(?::uuid[]) as given (id) cross join lateral (
       select package_id, version from package_version
        where package_id = given.id and deleted_at is null
        order by created_position desc, id desc limit 1) as newest`,
    [[...packageIds]],
  );
  return new Map(rows.map(({ package_id, version }) => [package_id, version]));
}

/** A package of this very registry; another one's is not found. */
export function findPackage(
  db: Knex,
  registryId: string,
  id: string,
): Promise<PackageRow | undefined> {
  return db<PackageRow>("package").where("id", id).andWhere("registry_id", registryId).first();
}

export async function findPackageVersion(
  db: Knex,
  id: string,
): Promise<PackageVersionRow | undefined> {
  const rows = await db<StoredVersion>("package_version").where("id", id);
  const [row] = await versionsWithFiles(db, rows);
  return row;
}

/** Of all versions, by name. */
export async function listPackageFiles(
  db: Knex,
  packageId: string,
  { limit, offset }: Page,
): Promise<Slice<PackageFileRow>> {
  const own = () => db<PackageFileRow>("package_file").where("package_id", packageId);
  const [rows, counted] = await Promise.all([
    own().orderBy(["name", "id"]).limit(limit).offset(offset),
    own().count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
}

/** A file of this very version. */
export function findPackageFile(
  db: Knex,
  packageVersionId: string,
  id: string,
): Promise<PackageFileRow | undefined> {
  return db<PackageFileRow>("package_file")
    .where("id", id)
    .andWhere("package_version_id", packageVersionId)
    .first();
}

/** With their files, by name. */
export async function versionsWithFiles(
  db: Knex,
  rows: readonly StoredVersion[],
): Promise<readonly PackageVersionRow[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const files: PackageFileRow[] = await db("package_file")
    .whereIn("package_version_id", ids)
    .orderBy(["package_version_id", "name"]);
  const byVersion = new Map<string, PackageFileRow[]>(ids.map((id) => [id, []]));
  for (const file of files) byVersion.get(file.package_version_id)?.push(file);
  return rows.map((row) => ({ ...row, files: byVersion.get(row.id) ?? [] }));
}
