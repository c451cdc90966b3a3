import type { Knex } from "knex";
import type { PackageId, PackageVersionId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { packageTagEvents } from "../../events/package/tag.ts";
import { type PackageFile, packageVersionEvents } from "../../events/package/version.ts";
import { registryRepositoryEvents } from "../../events/registry/repository.ts";
import { companyEvents } from "../../events/team/company.ts";
import { type Change, change, lookUp, put, remove, type Values } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { type Part, partOf, type Slice } from "../list/list-rows.ts";
import { columnsOf, type FileOwner } from "./file-column.ts";
import {
  dropRegistries,
  files,
  type PackageFileRow,
  type PackageRow,
  packages,
  packageTables,
  registries,
  type StoredVersion,
  tags,
  versions,
} from "./table.ts";
import { refreshLive, refreshRegistry } from "./total.ts";

export type PackageVersionRow = StoredVersion & Readonly<{ files: readonly PackageFileRow[] }>;

const { CompanyDeleted } = companyEvents;
const { RegistryRepositoryCreated, RegistryRepositoryDeleted } = registryRepositoryEvents;

export const packageVersionProjection = defineReadModel({
  name: "package_version",
  version: 12,
  tables: packageTables,
  events: {
    ...packageVersionEvents,
    ...packageTagEvents,
    ...purgeEvents,
    CompanyDeleted,
    RegistryRepositoryCreated,
    RegistryRepositoryDeleted,
  },
  effects: {
    RegistryRepositoryCreated: ({ data: { repositoryId: id, ownerId: owner_id } }) =>
      put(registries, { id, owner_id }),
    RegistryRepositoryDeleted: ({ stream }) => dropRegistries("id", idInStream(stream)),
    ProjectPurged: ({ data }) => dropRegistries("owner_id", data.projectId),
    CompanyDeleted: ({ stream }) => dropRegistries("owner_id", idInStream(stream)),
    PackageTagSet: ({ data: { packageId: package_id, tag, version } }) =>
      put(tags, { package_id, tag, version }),
    PackageTagRemoved: ({ data: { packageId: package_id, tag } }) =>
      remove(tags, { package_id, tag }),
    PackageVersionCreated: ({ revision, position, data }) => [
      ...(revision > 0n ? begunAnew(data, position) : []),
      put(packages, {
        id: data.packageId,
        registry_id: data.registryId,
        type: data.packageType,
        name: data.name,
        group_id: data.groupId,
        artifact_id: data.artifactId,
      }),
      put(versions, {
        id: data.packageVersionId,
        package_id: data.packageId,
        registry_id: data.registryId,
        version: data.version,
        language_version: null,
        created_position: position,
        changed_position: position,
        created_at: new Date(data.createdAt),
        created_by_id: data.createdById,
        yank_reason: null,
        deprecation: "",
        deleted_at: null,
      }),
      refreshLive(data.packageId),
    ],
    PackageFileStored: (event) => filePut(event, event.data.storedAt),
    PackageFileReplaced: (event) => filePut(event, event.data.replacedAt),
    PackageFileDeleted: (event) => [
      remove(files, { id: event.data.fileId }),
      ...changed(event, event.data.deletedAt, {}),
    ],
    PackageVersionYanked: (event) =>
      changed(event, event.data.yankedAt, { yank_reason: event.data.reason }),
    PackageVersionUnyanked: (event) => changed(event, event.data.unyankedAt, { yank_reason: null }),
    PackageVersionDeprecated: (event) =>
      changed(event, event.data.deprecatedAt, { deprecation: event.data.message }),
    PackageVersionDeleted: (event) => [
      ...changed(event, event.data.deletedAt, { deleted_at: new Date(event.data.deletedAt) }),
      refreshLive(event.data.packageId),
    ],
    PackageVersionRestored: (event) => [
      ...changed(event, event.data.restoredAt, { deleted_at: null }),
      refreshLive(event.data.packageId),
    ],
    // The package stays: a proxy never serves what once had this name here.
    PackageVersionPurged: ({ stream, position, data: { packageId: id, purgedAt } }) => [
      remove(versions, { id: idOf(stream) }),
      remove(files, { package_version_id: idOf(stream) }),
      change(packages, { id }, { reset_position: position }),
      ...touched(id, position, purgedAt),
      refreshLive(id),
    ],
  },
});

const idOf = (stream: string) => idInStream(stream) as PackageVersionId;

type Of<Data> = Readonly<{
  stream: string;
  position: bigint;
  data: Readonly<{ packageId: PackageId }> & Data;
}>;

/** A version that was deleted, or is gone for good, does not have the files again that it had. */
const begunAnew = (
  of: Readonly<{ packageId: PackageId; packageVersionId: PackageVersionId }>,
  position: bigint,
): readonly Change[] => [
  remove(files, { package_version_id: of.packageVersionId }),
  change(packages, { id: of.packageId }, { reset_position: position }),
];

function filePut(event: Of<PackageFile>, at: string): readonly Change[] {
  const { fileId: id, packageId: package_id, languageVersion, ...file } = event.data;
  const { name, bytes, md5, sha1, sha256, sha512, metadata = null } = file;
  const version = idOf(event.stream);
  return [
    put(files, {
      ...{ id, package_version_id: version, package_id, name, bytes: BigInt(bytes) },
      ...{ md5, sha1, sha256, sha512, metadata, upload_type: file.uploadType },
      created_at: new Date(at),
    }),
    lookUp<VersionOwner>(ownersOfVersions, version, ({ registry_id, ...owner }) =>
      change(files, { id }, { registry_id, ...columnsOf(file, owner) }),
    ),
    ...changed(event, at, { language_version: languageVersion ?? undefined }),
  ];
}

type VersionOwner = FileOwner & Readonly<{ id: string; registry_id: string }>;

/** What the events of files do not say of their versions. */
const ownersOfVersions = `
  select version.id, version.registry_id, package.type, package.name, version.version
  from package_version as version join package on package.id = version.package_id
  where version.id = any(?)`;

/** Of a version, in what indexes show of it. */
const changed = (
  { stream, position, data }: Of<object>,
  at: string,
  columns: Values<StoredVersion>,
): readonly Change[] => [
  change(versions, { id: idOf(stream) }, { ...columns, changed_position: position }),
  ...touched(data.packageId, position, at),
];

const touched = (id: PackageId, revision: bigint, at: string): readonly Change[] => [
  change(packages, { id }, { revision, changed_at: new Date(at) }),
  refreshRegistry(id),
];

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
export function listPackageFiles(
  db: Knex,
  packageId: string,
  part: Part,
): Promise<Slice<PackageFileRow>> {
  const own = () => db("package_file").where("package_id", packageId);
  return partOf(own, (rows) => rows.orderBy(["name", "id"]), part);
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
