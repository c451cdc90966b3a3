import type { Knex } from "knex";

import type { PackageFileId, PackageId, PackageVersionId } from "../events/ids.ts";
import {
  type PackageFile,
  type PackageType,
  type PackageUploadType,
  packageVersionEvents,
} from "../events/package-version.ts";
import { idInStream } from "../events/stream.ts";
import { defineProjection, type Tx } from "./projection.ts";
import type { Slice } from "./user.ts";

export type PackageRow = Readonly<{
  id: PackageId;
  registry_id: string;
  type: PackageType;
  name: string;
  group_id: string;
  artifact_id: string;
}>;

type StoredVersion = Readonly<{
  id: PackageVersionId;
  package_id: PackageId;
  version: string;
  language_version: string | null;
  /** Of its creation in the log. */
  created_position: bigint;
}>;

export type PackageFileRow = Readonly<{
  id: PackageFileId;
  package_version_id: PackageVersionId;
  name: string;
  bytes: bigint;
  md5: string;
  sha1: string;
  sha256: string;
  upload_type: PackageUploadType;
  /** Of its content. */
  created_at: Date;
}>;

export type PackageVersionRow = StoredVersion & Readonly<{ files: readonly PackageFileRow[] }>;

export const packageVersionProjection = defineProjection({
  name: "package_version",
  version: 1,
  tables: ["package", "package_version", "package_file"],
  async create(tx) {
    await tx.schema.createTable("package", (table) => {
      table.uuid("id").primary();
      table.text("registry_id").notNullable();
      table.text("type").notNullable();
      table.text("name").notNullable();
      table.text("group_id").notNullable();
      table.text("artifact_id").notNullable();
      table.index(["registry_id", "name", "id"]);
    });
    await tx.schema.createTable("package_version", (table) => {
      table.uuid("id").primary();
      table.uuid("package_id").notNullable();
      table.text("version").notNullable();
      table.text("language_version");
      table.bigInteger("created_position").notNullable();
      table.index(["package_id", "created_position", "id"]);
    });
    await tx.schema.createTable("package_file", (table) => {
      table.uuid("id").primary();
      table.uuid("package_version_id").notNullable();
      table.uuid("package_id").notNullable();
      table.text("name").notNullable();
      table.bigInteger("bytes").notNullable();
      table.text("md5").notNullable();
      table.text("sha1").notNullable();
      table.text("sha256").notNullable().index();
      table.text("upload_type").notNullable();
      table.timestamp("created_at").notNullable();
      table.index(["package_version_id", "name"]);
      table.index(["package_id", "name", "id"]);
    });
  },
  events: packageVersionEvents,
  handlers: {
    PackageVersionCreated: async (tx, { position, data }) => {
      const { packageId, packageVersionId, version } = data;
      const ofPackage = {
        id: packageId,
        registry_id: data.registryId,
        type: data.packageType,
        name: data.name,
        group_id: data.groupId,
        artifact_id: data.artifactId,
      };
      // Its name stays as it was first spelled.
      await tx<PackageRow>("package").insert(ofPackage).onConflict("id").ignore();
      const row = { id: packageVersionId, package_id: packageId, version, language_version: null };
      await tx<StoredVersion>("package_version")
        .insert({ ...row, created_position: position })
        .onConflict("id")
        .merge();
    },
    PackageFileStored: (tx, { stream, data }) => putFile(tx, stream, data, data.storedAt),
    PackageFileReplaced: (tx, { stream, data }) => putFile(tx, stream, data, data.replacedAt),
  },
});

async function putFile(
  tx: Tx,
  stream: string,
  file: PackageFile & Readonly<{ packageId: PackageId }>,
  at: string,
): Promise<void> {
  const id = idInStream(stream);
  const { fileId, name, bytes, md5, sha1, sha256, uploadType: upload_type } = file;
  const of = { package_version_id: id, package_id: file.packageId };
  const content = { bytes, md5, sha1, sha256, upload_type, created_at: new Date(at) };
  const row = { id: fileId, ...of, name, ...content };
  await tx("package_file").insert(row).onConflict("id").merge();
  if (file.languageVersion === null) return;
  const language_version = file.languageVersion;
  await tx("package_version").where({ id }).update({ language_version });
}

type Page = Readonly<{ limit: number; offset: number }>;

/** By name. */
export async function listPackages(
  db: Knex,
  registryId: string,
  { limit, offset }: Page,
): Promise<Slice<PackageRow>> {
  const own = () => db<PackageRow>("package").where({ registry_id: registryId });
  const [rows, counted] = await Promise.all([
    own().orderBy(["name", "id"]).limit(limit).offset(offset),
    own().count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
}

/** A package of this very registry; another one's is not found. */
export function findPackage(
  db: Knex,
  registryId: string,
  id: string,
): Promise<PackageRow | undefined> {
  return db<PackageRow>("package").where("id", id).andWhere("registry_id", registryId).first();
}

/** Newest first. */
export async function listPackageVersions(
  db: Knex,
  packageId: string,
  { limit, offset }: Page,
): Promise<Slice<PackageVersionRow>> {
  const own = () => db<StoredVersion>("package_version").where("package_id", packageId);
  const [rows, counted] = await Promise.all([
    own()
      .orderBy([
        { column: "created_position", order: "desc" },
        { column: "id", order: "desc" },
      ])
      .limit(limit)
      .offset(offset),
    own().count({ total: "*" }).first(),
  ]);
  return { rows: await withFiles(db, rows), total: Number(counted?.["total"] ?? 0) };
}

export async function findPackageVersion(
  db: Knex,
  id: string,
): Promise<PackageVersionRow | undefined> {
  const rows = await db<StoredVersion>("package_version").where("id", id);
  const [row] = await withFiles(db, rows);
  return row;
}

/** Of all versions, by name. */
export async function listPackageFiles(
  db: Knex,
  packageId: string,
  { limit, offset }: Page,
): Promise<Slice<PackageFileRow>> {
  const own = () => db<PackageFileRow>("package_file").where("package_id", packageId);
  const [rows, counted] = await Promise.all([
    own().orderBy(["name", "id"]).limit(limit).offset(offset),
    own().count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
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

async function withFiles(
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
