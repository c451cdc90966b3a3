import type { Knex } from "knex";

export type UnreadableFile = Readonly<{
  registry_id: string;
  type: string;
  package: string;
  version: string;
  name: string;
  unreadable: string;
}>;

/** Files that are kept out of indexes because the client of their ecosystem cannot parse what they say. */
export async function unreadableFiles(db: Knex): Promise<readonly UnreadableFile[]> {
  return db("package_file as file")
    .join("package_version as version", "version.id", "file.package_version_id")
    .join("package", "package.id", "file.package_id")
    .whereNotNull("file.unreadable")
    .whereNull("version.deleted_at")
    .orderBy(["package.registry_id", "package.name", "version.version", "file.name"])
    .select<UnreadableFile[]>(
      ...["package.registry_id", "package.type", "package.name as package", "version.version"],
      ...["file.name", "file.unreadable"],
    );
}
