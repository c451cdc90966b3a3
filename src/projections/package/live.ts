import type { Knex } from "knex";

import type { PackageId, PackageVersionId } from "../../events/core/ids.ts";
import type { Slice } from "../user/user.ts";
import {
  listVersions,
  type PackageRow,
  type PackageVersionRow,
  versionsWithFiles,
} from "./version.ts";

type Page = Readonly<{ limit: number; offset: number }>;

const isLive = `exists (
  select from package_version as version
  where version.package_id = package.id and version.deleted_at is null
)`;

const livePackages = (db: Knex, registryIds: readonly string[]) =>
  db<PackageRow>("package")
    .whereRaw("registry_id = any(?)", [[...registryIds]])
    .whereRaw(isLive);

/** Packages of these registries that have a version which is not deleted, by name. */
export async function listLivePackages(
  db: Knex,
  registryIds: readonly string[],
  { limit, offset }: Page,
): Promise<readonly PackageRow[]> {
  return livePackages(db, registryIds).orderBy(["name", "id"]).limit(limit).offset(offset);
}

/** Takes as long as there are many. */
export async function countLivePackages(db: Knex, registryIds: readonly string[]): Promise<number> {
  const counted = await livePackages(db, registryIds).count({ total: "*" }).first();
  return Number(counted?.["total"] ?? 0);
}

export function findLivePackage(
  db: Knex,
  registryIds: readonly string[],
  id: string,
): Promise<PackageRow | undefined> {
  return livePackages(db, registryIds).andWhere("id", id).first();
}

/** Versions that are not deleted, newest first. */
export function listLiveVersions(
  db: Knex,
  packageId: string,
  page: Page,
): Promise<Slice<PackageVersionRow>> {
  return listVersions(db, { package_id: packageId, deleted_at: null }, page);
}

/** Some of the versions that are not deleted. */
export async function liveVersionIds(
  db: Knex,
  packageId: string,
  limit: number,
): Promise<readonly PackageVersionId[]> {
  const rows: readonly Readonly<{ id: PackageVersionId }>[] = await db("package_version")
    .where("package_id", packageId)
    .andWhere("deleted_at", null)
    .limit(limit)
    .select("id");
  return rows.map(({ id }) => id);
}

/** A version of this very package, deleted or not. */
export async function findVersionOf(
  db: Knex,
  packageId: string,
  id: string,
): Promise<PackageVersionRow | undefined> {
  const rows = await db("package_version").where({ id, package_id: packageId });
  const [row] = await versionsWithFiles(db, rows);
  return row;
}

export type DeletedVersion = Readonly<{
  id: PackageVersionId;
  package_id: PackageId;
  type: PackageRow["type"];
  name: string;
  version: string;
  deleted_at: Date;
}>;

/** Versions of these registries that were deleted since, newest first; of one id when it is given. */
export async function listDeletedVersions(
  db: Knex,
  registryIds: readonly string[],
  { since, limit, offset, id }: Page & Readonly<{ since: Date; id?: string }>,
): Promise<Slice<DeletedVersion>> {
  const own = () => {
    const found = db("package_version as version")
      .join("package", "package.id", "version.package_id")
      .whereRaw("package.registry_id = any(?)", [[...registryIds]])
      .andWhere("version.deleted_at", ">=", since);
    return id === undefined ? found : found.andWhere("version.id", id);
  };
  const [rows, counted] = await Promise.all([
    own()
      .orderBy([
        { column: "version.deleted_at", order: "desc" },
        { column: "version.id", order: "desc" },
      ])
      .limit(limit)
      .offset(offset)
      .select<DeletedVersion[]>(
        "version.id",
        "version.package_id",
        "package.type",
        "package.name",
        "version.version",
        "version.deleted_at",
      ),
    own().count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
}

/** Versions that were deleted before a time, the oldest first. */
export async function versionsDeletedBefore(
  db: Knex,
  before: Date,
  limit: number,
): Promise<readonly Readonly<{ id: PackageVersionId; package_id: PackageId }>[]> {
  return await db("package_version")
    .where("deleted_at", "<", before)
    .orderBy(["deleted_at", "id"])
    .limit(limit)
    .select("id", "package_id");
}
