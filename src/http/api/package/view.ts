import type { Knex } from "knex";
import { z } from "zod";

import {
  instanceRegistryId,
  PackageType,
  PackageUploadType,
} from "../../../events/package/version.ts";
import { mavenBaseVersion } from "../../../package/maven/format.ts";
import type { PackageFileRow, PackageRow } from "../../../projections/package/table.ts";
import { newestVersions, type PackageVersionRow } from "../../../projections/package/version.ts";
import { instant } from "../../core/schema.ts";
import { downloadsOf } from "./download-count.ts";

export const PackageView = z
  .object({
    id: z.uuid(),
    name: z.string().meta({ description: "As it was first spelled." }),
    version: z.string().meta({ description: "The newest one." }),
    groupId: z.string().meta({ description: "Group, scope or vendor; empty where there is none." }),
    artifactId: z.string(),
    type: PackageType,
    ownerUuid: z.string().meta({
      description: "The repository that holds it; empty for one of the instance.",
    }),
    ownerType: z.enum(["GLOBAL", "REPOSITORY"]),
  })
  .meta({ id: "Package" });

export const PackageFileView = z
  .object({
    id: z.uuid(),
    name: z.string(),
    size: z.int(),
    hashMd5: z.string(),
    hashSHA1: z.string(),
    hashSHA256: z.string(),
    packageUploadType: PackageUploadType,
    createdAt: instant().meta({ description: "Of its content." }),
    nodeUuid: z.string().meta({ description: "Its folder: the version it is of." }),
  })
  .meta({ id: "PackageFile" });

export const PackageVersionView = z
  .object({
    id: z.uuid(),
    baseVersion: z.string().meta({ description: "Of a Maven snapshot, what it is a build of." }),
    version: z.string(),
    lowerVersion: z.string(),
    downloadCount: z.int().meta({ description: "Of all of its files." }),
    languageVersion: z.string().nullable().meta({
      description: "The version of the language that its metadata requires, where that was found.",
    }),
    packageUploadType: PackageUploadType,
    packageFiles: z.array(PackageFileView),
    internal: z.null().meta({ description: "Deprecated." }),
  })
  .meta({ id: "PackageVersion" });

export async function packageViews(
  db: Knex,
  rows: readonly PackageRow[],
): Promise<z.input<typeof PackageView>[]> {
  const versions = await newestVersions(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map(({ id, name, group_id: groupId, artifact_id: artifactId, type, registry_id }) => {
    const version = versions.get(id) ?? "";
    return { id, name, version, groupId, artifactId, type, ...ownerIn(registry_id) };
  });
}

function ownerIn(registryId: string) {
  if (registryId === instanceRegistryId) return { ownerUuid: "", ownerType: "GLOBAL" } as const;
  return { ownerUuid: registryId, ownerType: "REPOSITORY" } as const;
}

export function packageFileView(row: PackageFileRow): z.input<typeof PackageFileView> {
  return {
    id: row.id,
    name: row.name,
    size: Number(row.bytes),
    hashMd5: row.md5,
    hashSHA1: row.sha1,
    hashSHA256: row.sha256,
    packageUploadType: row.upload_type,
    createdAt: row.created_at,
    nodeUuid: row.package_version_id,
  };
}

export async function packageVersionViews(
  db: Knex,
  type: PackageType,
  rows: readonly PackageVersionRow[],
): Promise<z.input<typeof PackageVersionView>[]> {
  const ids = rows.map(({ id }) => id);
  const downloads = await downloadsOf(db, ids);
  return rows.map(({ id, version, language_version, files }) => ({
    id,
    baseVersion: type === "maven" ? mavenBaseVersion(version) : version,
    version,
    lowerVersion: version.toLowerCase(),
    downloadCount: downloads.get(id) ?? 0,
    languageVersion: language_version,
    packageUploadType: files[0]?.upload_type ?? "API",
    packageFiles: files.map(packageFileView),
    internal: null,
  }));
}
