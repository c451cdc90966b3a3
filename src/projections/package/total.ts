import type { Knex } from "knex";

import type { PackageId } from "../../events/core/ids.ts";
import type { Tx } from "../core/projection.ts";

/**
 * Of the packages of a registry: how many have a version that is not deleted, and the bytes of all files. They are kept
 * beside the rows, because counting them takes longer the more there are.
 */
export type PackageTotalRow = Readonly<{ registry_id: string; live: bigint; bytes: bigint }>;

/** What a change makes of a package: versions that are not deleted, and bytes of its files. */
export type Moved = Readonly<{ live: number; bytes: bigint }>;

export async function createTotal(tx: Tx): Promise<void> {
  await tx.schema.createTable("package_total", (table) => {
    table.text("registry_id").primary();
    table.bigInteger("live").notNullable().defaultTo(0);
    table.bigInteger("bytes").notNullable().defaultTo(0);
  });
}

const moveSql = `
  with moved as (
    update package set live_versions = live_versions + :live, is_live = live_versions + :live > 0
     where id = :packageId
    returning registry_id,
      (live_versions > 0)::int - (live_versions - :live > 0)::int as packages)
  insert into package_total (registry_id, live, bytes)
  select registry_id, packages, :bytes from moved
  on conflict (registry_id) do update
    set live = package_total.live + excluded.live, bytes = package_total.bytes + excluded.bytes`;

export async function moveTotal(
  tx: Tx,
  packageId: PackageId,
  { live, bytes }: Moved,
): Promise<void> {
  if (live === 0 && bytes === 0n) return;
  await tx.raw(moveSql, { packageId, live, bytes: String(bytes) });
}

/** Whether there is a version of this id that is not deleted, as a number. */
export async function liveCount(tx: Tx, id: string): Promise<number> {
  const row: unknown = await tx("package_version").where({ id, deleted_at: null }).first("id");
  return row === undefined ? 0 : 1;
}

/** Removes files. @returns their bytes */
export async function removeFiles(tx: Tx, which: object): Promise<bigint> {
  const removed: readonly Readonly<{ bytes: bigint | string }>[] = await tx("package_file")
    .where(which)
    .delete()
    .returning("bytes");
  return removed.reduce((sum, { bytes }) => sum + BigInt(bytes), 0n);
}

/** How many packages of these registries have a version that is not deleted. */
export async function countLivePackages(db: Knex, registryIds: readonly string[]): Promise<number> {
  const row = await db<PackageTotalRow>("package_total")
    .whereRaw("registry_id = any(?::text[])", [[...registryIds]])
    .sum<Readonly<{ live: string | null }>[]>({ live: "live" })
    .first();
  return Number(row?.live ?? 0);
}

/** What the files of all packages of an owner take, deleted versions included. */
export async function packageBytes(db: Knex, ownerId: string): Promise<number> {
  const row = await db("package_registry as registry")
    .join("package_total as total", "total.registry_id", "registry.id")
    .where("registry.owner_id", ownerId)
    .sum<Readonly<{ bytes: string | null }>[]>({ bytes: "total.bytes" })
    .first();
  return Number(row?.bytes ?? 0);
}
