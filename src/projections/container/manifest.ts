import type { Knex } from "knex";
import { z } from "zod";

import { containerTagEvents } from "../../events/container/tag.ts";
import { idInStream } from "../../events/core/stream.ts";
import { packageVersionEvents } from "../../events/package/version.ts";
import { registryRepositoryEvents } from "../../events/registry/repository.ts";
import { companyEvents } from "../../events/team/company.ts";
import type { ImageBlob } from "../../platform/container/link.ts";
import { storableValue } from "../../platform/storable-text.ts";
import { type Change, change, put, remove, statement } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

/** What a manifest's file says of itself in its event. */
export const ManifestMetadata = z.object({
  mediaType: z.string(),
  artifactType: z.string().nullable(),
  subject: z.string().nullable(),
  annotations: z.record(z.string(), z.string()).nullable(),
  blobs: z.array(z.object({ digest: z.string(), sha256: z.string(), bytes: z.number() })),
});
export type ManifestMetadata = Readonly<z.output<typeof ManifestMetadata>>;

/**
 * Undefined of a file that is no manifest. Texts in it are storable: an escape inside of the event's JSON text hides what
 * no column takes.
 */
export function readManifestMetadata(text: string): ManifestMetadata | undefined {
  const { data } = ManifestMetadata.safeParse(JSON.parse(text));
  return data && storableValue(data);
}

const ofVersion = {
  version_id: "uuid",
  package_id: "uuid",
  registry_id: "text",
  digest: "text",
} as const;

const manifests = defineTable({
  name: "container_manifest",
  columns: {
    ...ofVersion,
    /** Empty until its file is stored. */
    sha256: "text",
    bytes: "bigint",
    media_type: "text",
    artifact_type: "text null",
    subject: "text null",
    annotations: column<Readonly<Record<string, string>> | null>("jsonb null"),
    is_deleted: "boolean",
  },
  key: ["version_id"],
  indexes: ["(registry_id)"],
  lateIndexes: ["(package_id, digest)", "(package_id, subject, version_id)"],
});

export type ManifestRow = RowOf<typeof manifests>;

const blobs = defineTable({
  name: "container_manifest_blob",
  columns: { ...ofVersion, sha256: "text", bytes: "bigint" },
  key: ["version_id", "digest"],
  indexes: ["(registry_id, digest)"],
  lateIndexes: ["(sha256)", "(package_id, digest)"],
});

const tags = defineTable({
  name: "container_tag",
  columns: { package_id: "uuid", tag: 'text collate "C"', digest: "text" },
  key: ["package_id", "tag"],
  indexes: ["(package_id, digest)"],
});

const registries = defineTable({
  name: "container_registry",
  columns: { id: "text", owner_id: "text" },
  key: ["id"],
  indexes: ["(owner_id)"],
});

type RegistryRow = RowOf<typeof registries>;

const { CompanyDeleted } = companyEvents;
const { RegistryRepositoryCreated, RegistryRepositoryDeleted } = registryRepositoryEvents;
const { PackageVersionCreated, PackageFileStored } = packageVersionEvents;
const { PackageVersionDeleted, PackageVersionRestored, PackageVersionPurged } =
  packageVersionEvents;

/** Manifests are versions of a package whose name is the image's; this has what pulls and pushes request. */
export const containerManifestProjection = defineReadModel({
  name: "container_manifest",
  version: 3,
  tables: [manifests, blobs, tags, registries],
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
  effects: {
    RegistryRepositoryCreated: ({ data: { repositoryId: id, ownerId, packageType } }) =>
      packageType === "container" ? put(registries, { id, owner_id: ownerId }) : [],
    RegistryRepositoryDeleted: ({ stream }) => removeRegistries("id", idInStream(stream)),
    ProjectPurged: ({ data }) => removeRegistries("owner_id", data.projectId),
    CompanyDeleted: ({ stream }) => removeRegistries("owner_id", idInStream(stream)),
    PackageVersionCreated: ({ data }) => {
      if (data.packageType !== "container") return [];
      const { packageVersionId: version_id, packageId: package_id, version: digest } = data;
      const of = { version_id, package_id, registry_id: data.registryId, digest };
      return [
        // One that was deleted begins anew, without the tags it had.
        remove(tags, { package_id, digest }),
        remove(blobs, { version_id }),
        put(manifests, { ...of, sha256: "", bytes: 0n, media_type: "", is_deleted: false }),
      ];
    },
    PackageFileStored: ({ stream, data: { metadata, sha256, bytes } }) => {
      const about = metadata === undefined ? undefined : readManifestMetadata(metadata);
      if (about === undefined) return [];
      const version_id = idInStream(stream);
      const { mediaType: media_type, artifactType: artifact_type, subject, annotations } = about;
      const said = { media_type, artifact_type, subject, annotations };
      return [
        change(manifests, { version_id }, { sha256, bytes: BigInt(bytes), ...said }),
        statement(putBlobs, [JSON.stringify(about.blobs), version_id]),
      ];
    },
    PackageVersionDeleted: ({ stream }) => change(manifests, idOf(stream), { is_deleted: true }),
    PackageVersionRestored: ({ stream }) => change(manifests, idOf(stream), { is_deleted: false }),
    PackageVersionPurged: ({ stream }) => [
      statement(removeTags, [idInStream(stream)]),
      remove(manifests, idOf(stream)),
      remove(blobs, idOf(stream)),
    ],
    ContainerTagSet: ({ data: { packageId: package_id, tag, digest } }) =>
      put(tags, { package_id, tag, digest }),
    ContainerTagRemoved: ({ data: { packageId: package_id, tag } }) =>
      remove(tags, { package_id, tag }),
  },
});

const idOf = (stream: string) => ({ version_id: idInStream(stream) });

/** Puts what a manifest names, in the registry that the manifest is in; nothing if it is not there. */
const putBlobs = `
  insert into container_manifest_blob (version_id, digest, package_id, registry_id, sha256, bytes)
  select version_id, named.digest, package_id, registry_id, named.sha256, named.bytes
  from json_to_recordset(?) as named (digest text, sha256 text, bytes bigint), container_manifest
  where version_id = ?
  on conflict (version_id, digest) do update set package_id = excluded.package_id,
    registry_id = excluded.registry_id, sha256 = excluded.sha256, bytes = excluded.bytes`;

/** Removes the tags of a manifest that is about to be removed. */
const removeTags = `
  delete from container_tag as tag using container_manifest as manifest
  where version_id = ? and tag.package_id = manifest.package_id and tag.digest = manifest.digest`;

/** Removes registries with all images in them. */
const removeRegistries = (column: keyof RegistryRow, id: string): Change =>
  statement(
    `with registry as (delete from container_registry where ${column} = ? returning id),
       manifest as (delete from container_manifest using registry where registry_id = registry.id
         returning package_id),
       blob as (delete from container_manifest_blob using registry where registry_id = registry.id)
     delete from container_tag where package_id in (select package_id from manifest)`,
    [id],
  );

const live = (db: Knex) =>
  db<ManifestRow>(manifests.name).where("is_deleted", false).andWhere("sha256", "<>", "");

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
  const row: Readonly<{ digest: string }> | undefined = await db(tags.name)
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
  const rows: readonly Readonly<{ tag: string }>[] = await db("container_tag as tag")
    .where("tag.package_id", packageId)
    .andWhere("tag.tag", ">", after)
    .whereExists(
      db("container_manifest as manifest")
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
  const found = db("container_manifest_blob as blob")
    .join("container_manifest as manifest", "manifest.version_id", "blob.version_id")
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
