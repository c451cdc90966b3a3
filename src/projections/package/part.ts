import type { Knex } from "knex";

import { type ListedFile, listedFiles } from "./registry.ts";

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

/** The range of at most so many versions after a position; undefined when there are none. */
export async function nextRange(
  db: Knex,
  packageId: string,
  after: bigint,
  versionsMax: number,
): Promise<PartRange | undefined> {
  const next = db("package_version")
    .where("package_id", packageId)
    .andWhere("created_position", ">", String(after))
    .orderBy("created_position")
    .limit(versionsMax)
    .select("created_position");
  const rows = await db.from(next.as("next")).max<{ to: bigint | string | null }[]>({
    to: "created_position",
  });
  const to = rows[0]?.to ?? null;
  return to === null ? undefined : { after, to: BigInt(to) };
}

/** Files of the versions in a range that are not deleted, in the order in which the versions were created. */
export async function filesInRange(
  db: Knex,
  packageId: string,
  { after, to }: PartRange,
): Promise<readonly ListedFile[]> {
  return listedFiles(db)
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
