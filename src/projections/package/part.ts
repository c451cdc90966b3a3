import type { Knex } from "knex";

import type { PackageVersionId } from "../../events/core/ids.ts";
import { indexedFiles, type ListedFile } from "./registry.ts";

/** Where what is made from the versions of a package stands. */
export type PackagePosition = Readonly<{
  /** Of the last change of what the indexes of its registry show. */
  revision: bigint;
  /** What was made earlier is made anew from the beginning. */
  reset_position: bigint;
}>;

/** Undefined for a package that does not exist. */
export async function packagePosition(
  db: Knex,
  packageId: string,
): Promise<PackagePosition | undefined> {
  const [row] = await db("package")
    .join("package_registry as registry", "registry.id", "package.registry_id")
    .where("package.id", packageId)
    .select<PackagePosition[]>("registry.revision", "package.reset_position");
  return row;
}

/** Versions of a package between two positions of their creation, the first excluded. */
export type PartRange = Readonly<{ after: bigint; to: bigint }>;

/** At which of these a range ends; it has one version at least. */
export type RangeMax = Readonly<{ versions: number; files: number; metadataBytes: number }>;

const nextRangeSql = `
  with version as (
    select id, created_position from package_version
    where package_id = :packageId and created_position > :after and created_position <= :until
    order by created_position limit :versions),
  weighed as (
    select created_position, count(file.id) as files,
      coalesce(sum(octet_length(coalesce(file.shown, file.metadata))), 0) as bytes
    from version left join package_file as file on file.package_version_id = version.id
    group by created_position),
  summed as (
    select created_position, row_number() over so_far as number,
      sum(files) over so_far as files, sum(bytes) over so_far as bytes
    from weighed window so_far as (order by created_position))
  select max(created_position) as to from summed
  where number = 1 or (files <= :files and bytes <= :metadataBytes)`;

const lastPosition = 2n ** 63n - 1n;

/** The next versions after a position; undefined when there are none up to the other one. */
export async function nextRange(
  db: Knex,
  packageId: string,
  { after, to: until = lastPosition }: Readonly<{ after: bigint; to?: bigint }>,
  max: RangeMax,
): Promise<PartRange | undefined> {
  const between = { packageId, after: String(after), until: String(until) };
  const { rows } = (await db.raw(nextRangeSql, { ...between, ...max })) as Readonly<{
    rows: readonly Readonly<{ to: bigint | string | null }>[];
  }>;
  const to = rows[0]?.to ?? null;
  return to === null ? undefined : { after, to: BigInt(to) };
}

/** Files of the versions in a range that are not deleted, with what indexes show of them, in the order in which the versions were created. */
export async function filesInRange(
  db: Knex,
  packageId: string,
  { after, to }: PartRange,
): Promise<readonly ListedFile[]> {
  return indexedFiles(db)
    .where("version.package_id", packageId)
    .andWhere("version.created_position", ">", String(after))
    .andWhere("version.created_position", "<=", String(to))
    .orderBy(["version.created_position", "version.id", "file.name"]);
}

/** Positions of the creation of versions that were changed after a position, in ascending order. */
export async function changedAfter(
  db: Knex,
  packageId: string,
  position: bigint,
): Promise<readonly bigint[]> {
  const rows: readonly Readonly<{ created_position: bigint }>[] = await db("package_version")
    .where("package_id", packageId)
    .andWhere("changed_position", ">", String(position))
    .orderBy("created_position")
    .select("created_position");
  return rows.map(({ created_position: created }) => BigInt(created));
}

/** Of each package that has versions, a text that changes with what indexes show of it. */
export async function changePositions(
  db: Knex,
  packageIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = (await db.raw(
    `select id, reset_position || '-' || coalesce(
       (select max(changed_position) from package_version where package_id = package.id), 0) as at
     from package where id = any(?::uuid[])`,
    [[...packageIds]],
  )) as Readonly<{ rows: readonly Readonly<{ id: string; at: string }>[] }>;
  return new Map(rows.map(({ id, at }) => [id, at]));
}

export type ListedVersion = Readonly<{
  id: PackageVersionId;
  version: string;
  deprecation: string;
}>;

/** Those that are not deleted, in the order in which they were created. */
export async function versionsOfPackage(
  db: Knex,
  packageId: string,
): Promise<readonly ListedVersion[]> {
  return db("package_version")
    .where("package_id", packageId)
    .whereNull("deleted_at")
    .orderBy(["created_position", "id"])
    .select<ListedVersion[]>("id", "version", "deprecation");
}
