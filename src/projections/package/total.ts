import type { Knex } from "knex";

import { type Change, derive } from "../core/change.ts";
import { defineTable, type RowOf } from "../core/table.ts";

const ofRegistry = {
  columns: { registry_id: "text", total: "bigint" },
  key: ["registry_id"],
} as const;

/** Packages that have a version which is not deleted. */
export const livePackages = defineTable({ name: "package_total", ...ofRegistry });

/** Of all files, deleted versions included. */
export const fileBytes = defineTable({ name: "package_file_bytes", ...ofRegistry });

/** Versions that are not deleted. */
export const liveVersions = defineTable({
  name: "package_version_total",
  columns: { package_id: "uuid", total: "bigint" },
  key: ["package_id"],
});

/** Has a package show how many of its versions are not deleted. */
export const refreshLive = (packageId: string): Change =>
  derive(
    `update package as stored set live_versions = fresh.total, is_live = fresh.total > 0
     from (
       select package.id, coalesce(live.total, 0) as total
       from package left join package_version_total as live on live.package_id = package.id
       where package.id = any(?)) as fresh
     where stored.id = fresh.id and stored.live_versions <> fresh.total`,
    packageId,
  );

/** Has the registry of a package show the last change of its packages. */
export const refreshRegistry = (packageId: string): Change =>
  derive(
    `update package_registry as stored
     set revision = fresh.revision, changed_at = fresh.changed_at
     from (
       select distinct on (registry_id) registry_id, revision, changed_at
       from package where id = any(?)
       order by registry_id, revision desc) as fresh
     where stored.id = fresh.registry_id`,
    packageId,
  );

/** How many packages of these registries have a version that is not deleted. */
export async function countLivePackages(db: Knex, registryIds: readonly string[]): Promise<number> {
  const row = await db<RowOf<typeof livePackages>>("package_total")
    .whereRaw("registry_id = any(?::text[])", [[...registryIds]])
    .sum<Readonly<{ total: string | null }>[]>({ total: "total" })
    .first();
  return Number(row?.total ?? 0);
}

/** What the files of all packages of an owner take, deleted versions included. */
export async function packageBytes(db: Knex, ownerId: string): Promise<number> {
  const row = await db("package_registry as registry")
    .join("package_file_bytes as files", "files.registry_id", "registry.id")
    .where("registry.owner_id", ownerId)
    .sum<Readonly<{ bytes: string | null }>[]>({ bytes: "files.total" })
    .first();
  return Number(row?.bytes ?? 0);
}
