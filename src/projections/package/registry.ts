import type { Knex } from "knex";

import type { PackageId, PackageVersionId, UserId } from "../../events/core/ids.ts";
import { instanceOwnerId } from "../../events/registry/repository.ts";
import type { PackageFileRow, PackageRow } from "./table.ts";

/** A file with what its version is like: a line of an index. */
export type ListedFile = PackageFileRow &
  Readonly<{
    package_id: PackageId;
    version_id: PackageVersionId;
    version: string;
    version_created_at: Date;
    version_created_by_id: UserId | null;
    yank_reason: string | null;
    deprecation: string;
  }>;

/** Those that clients can parse, of versions that are not deleted. */
export const listedFiles = (db: Knex) => liveFiles(db).whereNull("file.unreadable");

/** Of versions that are not deleted. */
function liveFiles(db: Knex) {
  return db("package_file as file")
    .join("package_version as version", "version.id", "file.package_version_id")
    .whereNull("version.deleted_at")
    .select<ListedFile[]>("file.*", ...ofVersion);
}

const ofVersion = [
  "version.id as version_id",
  "version.version",
  "version.created_at as version_created_at",
  "version.created_by_id as version_created_by_id",
  "version.yank_reason",
  "version.deprecation",
];

/** The same with no more of their metadata than indexes show. */
export function indexedFiles(db: Knex) {
  const columns = ["id", "package_version_id", "package_id", "name", "bytes", "md5", "sha1"];
  const more = ["sha256", "sha512", "upload_type", "created_at"];
  return listedFiles(db)
    .clearSelect()
    .select<ListedFile[]>(
      ...[...columns, ...more].map((column) => `file.${column}`),
      db.raw("coalesce(file.shown, file.metadata) as metadata"),
      db.raw("null as shown"),
      ...ofVersion,
    );
}

/** Of all versions that are not deleted, in the order in which the versions were created. */
export async function filesOfPackage(db: Knex, packageId: string): Promise<readonly ListedFile[]> {
  return listedFiles(db)
    .where("version.package_id", packageId)
    .orderBy(["version.created_position", "version.id", "file.name"]);
}

/** Which of these versions exist, are not deleted, and can be parsed by clients. */
export async function versionsWithIds(
  db: Knex,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows: readonly Readonly<{ id: string }>[] = await db("package_version")
    .whereRaw("id = any(?::uuid[])", [[...ids]])
    .whereNull("deleted_at")
    .whereRaw(
      `not exists (select from package_file as file
        where file.package_version_id = package_version.id and file.unreadable is not null)`,
    )
    .select("id");
  return new Set(rows.map(({ id }) => id));
}

/** Of the versions that begin so and are not deleted, in the order in which they were created. */
export async function filesOfVersionsFrom(
  db: Knex,
  packageId: string,
  prefix: string,
): Promise<readonly ListedFile[]> {
  return listedFiles(db)
    .where("version.package_id", packageId)
    .whereRaw("starts_with(version.version, ?)", [prefix])
    .orderBy(["version.created_position", "version.id", "file.name"]);
}

/** Versions that are neither deleted nor yanked. */
export async function offeredVersions(
  db: Knex,
  packageId: string,
): Promise<readonly Readonly<{ id: PackageVersionId; version: string }>[]> {
  return await db("package_version")
    .where({ package_id: packageId, deleted_at: null, yank_reason: null })
    .select("id", "version");
}

/** Unless its version is deleted. */
export async function findListedFile(db: Knex, fileId: string): Promise<ListedFile | undefined> {
  const [row] = await liveFiles(db).where("file.id", fileId);
  return row;
}

/** What a download needs of a file. */
export type SentFile = Pick<
  ListedFile,
  "id" | "version_id" | "name" | "bytes" | "md5" | "sha1" | "sha256"
>;

/** The first of these files that is of a version that is not deleted. */
export async function findSentFile(
  db: Knex,
  ids: readonly string[],
): Promise<SentFile | undefined> {
  const columns = ["id", "name", "bytes", "md5", "sha1", "sha256"].map((name) => `file.${name}`);
  const rows = await liveFiles(db)
    .clearSelect()
    .select<SentFile[]>("version.id as version_id", ...columns)
    .whereRaw("file.id = any(?::uuid[])", [[...ids]]);
  const byId = new Map<string, SentFile>(rows.map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id)).find((row) => row !== undefined);
}

/** Of a version that is not deleted, by name. */
export async function filesOfVersion(db: Knex, versionId: string): Promise<readonly ListedFile[]> {
  return listedFiles(db).where("version.id", versionId).orderBy("file.name");
}

/** Which of these packages exist, those included whose versions are all deleted. */
export async function packagesWithIds(
  db: Knex,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PackageRow>> {
  const rows: PackageRow[] = await db("package").whereRaw("id = any(?::uuid[])", [[...ids]]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Version by tag. */
export async function tagsOfPackage(
  db: Knex,
  packageId: string,
): Promise<ReadonlyMap<string, string>> {
  const rows: readonly Readonly<{ tag: string; version: string }>[] = await db("package_tag")
    .where("package_id", packageId)
    .orderBy("tag");
  return new Map(rows.map(({ tag, version }) => [tag, version]));
}

/** Id of the project, or of another owner, whose registry a package is in; undefined for the instance's. */
export async function ownerOfPackage(db: Knex, packageId: string): Promise<string | undefined> {
  const row: Readonly<{ owner_id: string }> | undefined = await db("package")
    .join("package_registry as registry", "registry.id", "package.registry_id")
    .where("package.id", packageId)
    .first("registry.owner_id");
  return row?.owner_id === instanceOwnerId ? undefined : row?.owner_id;
}
