import type { Knex } from "knex";
import type { PackageId, PackageVersionId } from "../../events/core/ids.ts";
import { partPattern } from "../list/folded.ts";
import type { Part, Slice } from "../list/list-rows.ts";
import { countedBeyondMax, countedNear } from "../list/total.ts";
import type { PackageRow } from "./table.ts";
import { type PackageVersionRow, versionsWithFiles } from "./version.ts";

/**
 * The first rows of these registries, in the order of an index that begins with the registry: of each of them no more are
 * read than may be in the page.
 */
function firstOfEach(
  db: Knex,
  registryIds: readonly string[],
  select: (registryId: string) => Knex.QueryBuilder,
  { order, limit, offset }: Part & Readonly<{ order: readonly Sorted[] }>,
): Knex.QueryBuilder {
  const each = registryIds.map(select);
  const [only] = each;
  const sorted = (query: Knex.QueryBuilder) => query.orderBy([...order]);
  if (only === undefined) return db("package").whereRaw("false").select("id");
  if (each.length === 1) return sorted(only).limit(limit).offset(offset);
  const all = db.queryBuilder().unionAll(
    each.map((query) => sorted(query).limit(offset + limit)),
    true,
  );
  return sorted(db.from(all.as("merged")).select("*"))
    .limit(limit)
    .offset(offset);
}

type Sorted = Readonly<{ column: string; order: "asc" | "desc" }>;
const byName: readonly Sorted[] = ["name", "id"].map((column) => ({ column, order: "asc" }));
const byDeletion: readonly Sorted[] = ["deleted_at", "id"].map((column) => ({
  column,
  order: "desc",
}));
const byCreation: readonly Sorted[] = ["created_position", "id"].map((column) => ({
  column,
  order: "desc",
}));

/** The package that a page begins with. */
export type PackageBoundary = Pick<PackageRow, "name" | "id">;

/**
 * Packages of these registries that have a version which is not deleted, by name, those before `from` left out; with a text, those whose names hold it
 * without regard to case. What comes before the page is read from an index only.
 */
export async function listLivePackages(
  db: Knex,
  registryIds: readonly string[],
  { limit, offset, text = "", from }: Part & Readonly<{ text?: string; from?: PackageBoundary }>,
): Promise<readonly PackageRow[]> {
  const each = (registryId: string) => {
    const own = db("package").where("registry_id", registryId).whereRaw("is_live");
    if (from !== undefined) own.whereRaw("(name, id) >= (?, ?::uuid)", [from.name, from.id]);
    if (text !== "") own.whereRaw("public.folded(name) ~ ?", [partPattern(text)]);
    return own.select("name", "id");
  };
  const page = firstOfEach(db, registryIds, each, { order: byName, limit, offset });
  return await db<PackageRow>("package")
    .whereIn("id", db.from(page.as("page")).select("id"))
    .orderBy([...byName]);
}

export function findLivePackage(
  db: Knex,
  registryIds: readonly string[],
  id: string,
): Promise<PackageRow | undefined> {
  return db<PackageRow>("package")
    .whereRaw("registry_id = any(?)", [[...registryIds]])
    .andWhere("id", id)
    .whereRaw("is_live")
    .first();
}

/** Versions that are not deleted, newest first. */
export async function listLiveVersions(
  db: Knex,
  { id, live_versions }: Pick<PackageRow, "id" | "live_versions">,
  { limit, offset }: Part,
): Promise<Slice<PackageVersionRow>> {
  const page = db("package_version")
    .where({ package_id: id, deleted_at: null })
    .orderBy([...byCreation])
    .limit(limit)
    .offset(offset);
  return { rows: await versionsWithFiles(db, await page), total: Number(live_versions) };
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

/** Versions of these registries that were deleted since, newest first, counted near the page; of one id when it is given. */
export async function listDeletedVersions(
  db: Knex,
  registryIds: readonly string[],
  { since, limit, offset, id }: Part & Readonly<{ since: Date; id?: string }>,
): Promise<Slice<DeletedVersion>> {
  const each = (registryId: string) => {
    const found = db("package_version")
      .select("id", "deleted_at")
      .where("registry_id", registryId)
      .andWhere("deleted_at", ">=", since);
    return id === undefined ? found : found.andWhere("id", id);
  };
  const first = (most: Part) =>
    firstOfEach(db, registryIds, each, { order: byDeletion, ...most }).as("page");
  const counted = { limit: offset + limit + countedBeyondMax, offset: 0 };
  const [rows, total] = await Promise.all([
    db("package_version as version")
      .join("package", "package.id", "version.package_id")
      .whereIn("version.id", db.from(first({ limit, offset })).select("id"))
      .orderBy(byDeletion.map(({ column, order }) => ({ column: `version.${column}`, order })))
      .select<DeletedVersion[]>(
        "version.id",
        "version.package_id",
        "package.type",
        "package.name",
        "version.version",
        "version.deleted_at",
      ),
    countedNear(db, db.from(first(counted)), { limit, offset }),
  ]);
  return { rows, total };
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
