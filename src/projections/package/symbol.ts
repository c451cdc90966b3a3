import type { Knex } from "knex";

/** Files of symbols with this key that are not deleted, in the order of the registries. */
export async function symbolFiles(
  db: Knex,
  registryIds: readonly string[],
  symbol: string,
): Promise<readonly string[]> {
  const rows: readonly Readonly<{ id: string }>[] = await db("package_file as file")
    .join("package", "package.id", "file.package_id")
    .join("package_version as version", "version.id", "file.package_version_id")
    .whereNull("version.deleted_at")
    .where("file.symbol", symbol)
    .whereRaw("package.registry_id = any(?::text[])", [[...registryIds]])
    .orderByRaw("array_position(?::text[], package.registry_id), file.created_at, file.id", [
      [...registryIds],
    ])
    .limit(filesMax)
    .select("file.id");
  return rows.map(({ id }) => id);
}

/** Versions that hold the same symbols; the first is sent, and another one when that is deleted meanwhile. */
const filesMax = 20;

/** What files of symbols say of themselves in their event. */
export type SymbolMetadata = Readonly<{ symbol: string }>;

export function symbolOf(metadata: string): string | null {
  const { symbol } = JSON.parse(metadata) as Partial<SymbolMetadata>;
  return typeof symbol === "string" ? symbol : null;
}
