import type { Knex } from "knex";
import { z } from "zod";

import { containerTagEvents } from "../../events/container/tag.ts";
import { idInStream } from "../../events/core/stream.ts";
import { packageVersionEvents } from "../../events/package/version.ts";
import { registryRepositoryEvents } from "../../events/registry/repository.ts";
import { companyEvents } from "../../events/team/company.ts";
import type { ImageBlob } from "../../platform/container/link.ts";
import { storableValue } from "../../platform/storable-text.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { purgeEvents } from "../core/purge.ts";

/** What a manifest's file says of itself in its event. */
export const ManifestMetadata = z.object({
  mediaType: z.string(),
  artifactType: z.string().nullable(),
  subject: z.string().nullable(),
  annotations: z.record(z.string(), z.string()).nullable(),
  blobs: z.array(z.object({ digest: z.string(), sha256: z.string(), bytes: z.number() })),
});
export type ManifestMetadata = Readonly<z.output<typeof ManifestMetadata>>;

/** Texts in it are storable: an escape inside of the event's JSON text hides what no column takes. */
export const readManifestMetadata = (text: string): ManifestMetadata =>
  ManifestMetadata.parse(storableValue(JSON.parse(text)));

export type ManifestRow = Readonly<{
  version_id: string;
  package_id: string;
  registry_id: string;
  digest: string;
  /** Empty until its file is stored. */
  sha256: string;
  bytes: bigint;
  media_type: string;
  artifact_type: string | null;
  subject: string | null;
  annotations: Readonly<Record<string, string>> | null;
  is_deleted: boolean;
}>;

const manifests = "container_manifest";
const blobs = "container_manifest_blob";
const tags = "container_tag";
const registries = "container_registry";

const { CompanyDeleted } = companyEvents;
const { RegistryRepositoryCreated, RegistryRepositoryDeleted } = registryRepositoryEvents;
const { PackageVersionCreated, PackageFileStored } = packageVersionEvents;
const { PackageVersionDeleted, PackageVersionRestored, PackageVersionPurged } =
  packageVersionEvents;

/** Manifests are versions of a package whose name is the image's; this has what pulls and pushes request. */
export const containerManifestProjection = defineProjection({
  name: "container_manifest",
  version: 2,
  tables: [manifests, blobs, tags, registries],
  async create(tx) {
    await tx.schema.createTable(manifests, (table) => {
      table.uuid("version_id").primary();
      table.uuid("package_id").notNullable();
      table.text("registry_id").notNullable().index();
      table.text("digest").notNullable();
      table.text("sha256").notNullable();
      table.bigInteger("bytes").notNullable();
      table.text("media_type").notNullable();
      table.text("artifact_type");
      table.text("subject");
      table.jsonb("annotations");
      table.boolean("is_deleted").notNullable();
      table.index(["package_id", "digest"]);
      table.index(["package_id", "subject", "version_id"]);
    });
    await tx.schema.createTable(blobs, (table) => {
      table.uuid("version_id").notNullable();
      table.text("digest").notNullable();
      table.uuid("package_id").notNullable();
      table.text("registry_id").notNullable();
      table.text("sha256").notNullable().index();
      table.bigInteger("bytes").notNullable();
      table.primary(["version_id", "digest"]);
      table.index(["package_id", "digest"]);
      table.index(["registry_id", "digest"]);
    });
    await tx.schema.createTable(tags, (table) => {
      table.uuid("package_id").notNullable();
      table.specificType("tag", 'text collate "C"').notNullable();
      table.text("digest").notNullable();
      table.primary(["package_id", "tag"]);
      table.index(["package_id", "digest"]);
    });
    await tx.schema.createTable(registries, (table) => {
      table.text("id").primary();
      table.text("owner_id").notNullable().index();
    });
  },
  events: {
    ...containerTagEvents,
    ...purgeEvents,
    CompanyDeleted,
    PackageFileStored,
    PackageVersionCreated,
    PackageVersionDeleted,
    PackageVersionPurged,
    PackageVersionRestored,
    RegistryRepositoryCreated,
    RegistryRepositoryDeleted,
  },
  handlers: {
    RegistryRepositoryCreated: async (tx, { data: { repositoryId: id, ownerId, packageType } }) => {
      if (packageType !== "container") return;
      await tx(registries).insert({ id, owner_id: ownerId }).onConflict("id").merge();
    },
    RegistryRepositoryDeleted: (tx, { stream }) => drop(tx, { id: idInStream(stream) }),
    ProjectPurged: (tx, { data }) => drop(tx, { owner_id: data.projectId }),
    CompanyDeleted: (tx, { stream }) => drop(tx, { owner_id: idInStream(stream) }),
    PackageVersionCreated: async (tx, { data }) => {
      if (data.packageType !== "container") return;
      const { packageVersionId: version_id, packageId: package_id, version: digest } = data;
      // One that was deleted begins anew, without the tags it had.
      await tx(tags).where({ package_id, digest }).delete();
      await tx(blobs).where({ version_id }).delete();
      const of = { version_id, package_id, registry_id: data.registryId, digest };
      const unknown = { sha256: "", bytes: 0, media_type: "", is_deleted: false };
      await tx(manifests)
        .insert({ ...of, ...unknown })
        .onConflict("version_id")
        .merge();
    },
    PackageFileStored: async (tx, { stream, data }) => {
      const version_id = idInStream(stream);
      const row = await tx<ManifestRow>(manifests).where({ version_id }).first();
      if (row === undefined || data.metadata === undefined) return;
      const metadata = readManifestMetadata(data.metadata);
      await tx(manifests)
        .where({ version_id })
        .update({
          sha256: data.sha256,
          bytes: data.bytes,
          media_type: metadata.mediaType,
          artifact_type: metadata.artifactType,
          subject: metadata.subject,
          annotations: metadata.annotations && JSON.stringify(metadata.annotations),
        });
      const { package_id, registry_id } = row;
      const of = { version_id, package_id, registry_id };
      const named = metadata.blobs.map((blob) => ({ ...of, ...blob }));
      if (named.length === 0) return;
      await tx(blobs).insert(named).onConflict(["version_id", "digest"]).merge();
    },
    PackageVersionDeleted: (tx, { stream }) => mark(tx, stream, true),
    PackageVersionRestored: (tx, { stream }) => mark(tx, stream, false),
    PackageVersionPurged: async (tx, { stream }) => {
      const version_id = idInStream(stream);
      const [row] = await tx<ManifestRow>(manifests).where({ version_id }).delete("*");
      if (row === undefined) return;
      await tx(blobs).where({ version_id }).delete();
      await tx(tags).where({ package_id: row.package_id, digest: row.digest }).delete();
    },
    ContainerTagSet: async (tx, { data: { packageId: package_id, tag, digest } }) => {
      const row = { package_id, tag, digest };
      await tx(tags).insert(row).onConflict(["package_id", "tag"]).merge();
    },
    ContainerTagRemoved: async (tx, { data: { packageId: package_id, tag } }) => {
      await tx(tags).where({ package_id, tag }).delete();
    },
  },
});

async function mark(tx: Tx, stream: string, isDeleted: boolean): Promise<void> {
  await tx(manifests).where("version_id", idInStream(stream)).update({ is_deleted: isDeleted });
}

async function drop(tx: Tx, which: Readonly<{ id: string } | { owner_id: string }>): Promise<void> {
  const ids = () => tx(registries).where(which).select("id");
  const images = () => tx(manifests).whereIn("registry_id", ids()).select("package_id");
  await tx(tags).whereIn("package_id", images()).delete();
  await tx(blobs).whereIn("registry_id", ids()).delete();
  await tx(manifests).whereIn("registry_id", ids()).delete();
  await tx(registries).where(which).delete();
}

const live = (db: Knex) =>
  db<ManifestRow>(manifests).where("is_deleted", false).andWhere("sha256", "<>", "");

/** Manifests of an image with these digests; deleted ones are left out. */
export async function manifestsWithDigests(
  db: Knex,
  versionIds: readonly string[],
): Promise<readonly ManifestRow[]> {
  return await live(db).whereRaw("version_id = any(?::uuid[])", [[...versionIds]]);
}

/** What a tag names, a deleted manifest included. */
export async function digestOfTag(
  db: Knex,
  packageId: string,
  tag: string,
): Promise<string | undefined> {
  const row: Readonly<{ digest: string }> | undefined = await db(tags)
    .where({ package_id: packageId, tag })
    .first("digest");
  return row?.digest;
}

export type TagPage = Readonly<{ after: string; limit: number }>;

/** Tags that name a manifest which is not deleted, in the order of their bytes. */
export async function tagsOfImage(
  db: Knex,
  packageId: string,
  { after, limit }: TagPage,
): Promise<readonly string[]> {
  const rows: readonly Readonly<{ tag: string }>[] = await db(`${tags} as tag`)
    .where("tag.package_id", packageId)
    .andWhere("tag.tag", ">", after)
    .whereExists(
      db(`${manifests} as manifest`)
        .whereRaw("manifest.package_id = tag.package_id and manifest.digest = tag.digest")
        .andWhere("manifest.is_deleted", false),
    )
    .orderBy("tag.tag")
    .limit(limit)
    .select("tag.tag");
  return rows.map(({ tag }) => tag);
}

export type ReferrerPage = Readonly<{
  subject: string;
  artifactType: string | undefined;
  /** Id of the version that the page before ended with. */
  after: string;
  limit: number;
}>;

/** Manifests that say they are about another one. */
export async function referrersOf(
  db: Knex,
  packageId: string,
  { subject, artifactType, after, limit }: ReferrerPage,
): Promise<readonly ManifestRow[]> {
  const found = live(db)
    .where({ package_id: packageId, subject })
    .andWhere("version_id", ">", after);
  if (artifactType !== undefined) found.andWhere("artifact_type", artifactType);
  return await found.orderBy("version_id").limit(limit);
}

/** Of these contents, those that a manifest of the images names which is not deleted. */
export async function namedBlobs(
  db: Knex,
  where: Readonly<{ packageIds: readonly string[] } | { registryId: string }>,
  digests: readonly string[],
): Promise<readonly ImageBlob[]> {
  const found = db(`${blobs} as blob`)
    .join(`${manifests} as manifest`, "manifest.version_id", "blob.version_id")
    .where("manifest.is_deleted", false)
    .whereRaw("blob.digest = any(?)", [[...digests]]);
  if ("registryId" in where) found.andWhere("blob.registry_id", where.registryId);
  else found.whereRaw("blob.package_id = any(?::uuid[])", [[...where.packageIds]]);
  const rows: readonly Readonly<{ digest: string; sha256: string; bytes: bigint }>[] = await found
    .distinctOn("blob.digest")
    .select("blob.digest", "blob.sha256", "blob.bytes");
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
}

/**
 * What the blobs of all images of an owner take: each once a repository, those included that no manifest names
 * yet, and uploads that are under way.
 */
export async function containerBytes(db: Knex, ownerId: string): Promise<number> {
  const { rows } = await db.raw<{ rows: readonly Readonly<{ bytes: string | null }>[] }>(
    `with own as (select id from container_registry where owner_id = ?),
      content as (
        select registry_id, sha256, bytes from container_manifest_blob
          where registry_id in (select id from own)
        union
        select registry_id, sha256, bytes from public.container_blob
          where registry_id in (select id from own)
      )
      select (select coalesce(sum(bytes), 0) from content) +
        (select coalesce(sum(bytes), 0) from public.container_upload
          where registry_id in (select id from own)) as bytes`,
    [ownerId],
  );
  return Number(rows[0]?.bytes ?? 0);
}
