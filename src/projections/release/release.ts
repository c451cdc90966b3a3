import type { Knex } from "knex";

import type { ProjectId, ReleaseFileId, ReleaseId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { releaseEvents } from "../../events/release/release.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";

type StoredRelease = Readonly<{
  id: ReleaseId;
  project_id: ProjectId;
  title: string;
  description: string | null;
  tag_name: string;
  pre_release: boolean;
  /** Where the tag stood when the release was last connected to it. */
  commit_id: string | null;
  /** Of the last change. */
  author_id: UserId;
  created_at: Date;
  updated_at: Date;
}>;

export type ReleaseFileRow = Readonly<{
  id: ReleaseFileId;
  release_id: ReleaseId;
  name: string;
  bytes: bigint;
  md5: string;
  sha1: string;
  sha256: string;
  sha512: string;
  /** Place among the files of the release. */
  revision: bigint;
}>;

export type ReleaseRow = StoredRelease & Readonly<{ files: readonly ReleaseFileRow[] }>;

export const releaseProjection = defineProjection({
  name: "release",
  version: 2,
  tables: ["release", "release_file"],
  async create(tx) {
    await tx.schema.createTable("release", (table) => {
      table.uuid("id").primary();
      table.uuid("project_id").notNullable();
      table.text("title").notNullable();
      table.text("description");
      table.text("tag_name").notNullable();
      table.boolean("pre_release").notNullable();
      table.text("commit_id");
      table.uuid("author_id").notNullable();
      table.timestamp("created_at").notNullable();
      table.timestamp("updated_at").notNullable();
      table.index(["project_id", "created_at", "id"]);
    });
    await tx.schema.createTable("release_file", (table) => {
      table.uuid("id").primary();
      table.uuid("release_id").notNullable();
      table.text("name").notNullable();
      table.bigInteger("bytes").notNullable();
      table.text("md5").notNullable();
      table.text("sha1").notNullable();
      table.text("sha256").notNullable().index();
      table.text("sha512").notNullable();
      table.bigInteger("revision").notNullable();
      table.index(["release_id", "revision"]);
    });
  },
  events: { ...releaseEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: async (tx, { data: { projectId } }) => {
      const own = tx("release").where("project_id", projectId).select("id");
      await tx("release_file").whereIn("release_id", own).delete();
      await dropRows(tx, projectId, { release: "project_id" });
    },
    ReleaseCreated: async (tx, { data }) => {
      const row = {
        id: data.releaseId,
        project_id: data.projectId,
        title: data.title,
        description: data.description,
        tag_name: data.tagName,
        pre_release: data.preRelease,
        commit_id: data.commitId,
        author_id: data.createdById,
        created_at: new Date(data.createdAt),
        updated_at: new Date(data.createdAt),
      };
      await tx<StoredRelease>("release").insert(row).onConflict("id").merge();
    },
    ReleaseEdited: (tx, { stream, data: { details, commitId, editedById, editedAt } }) =>
      touch(tx, stream, editedById, editedAt, {
        title: details.title,
        description: details.description,
        tag_name: details.tagName,
        pre_release: details.preRelease,
        commit_id: commitId,
      }),
    ReleaseFileAdded: async (tx, { stream, revision, data }) => {
      const { fileId, name, bytes, md5, sha1, sha256, sha512, addedById, addedAt } = data;
      const release_id = idInStream(stream);
      const row = { id: fileId, release_id, name, bytes, md5, sha1, sha256, sha512, revision };
      await tx("release_file").insert(row).onConflict("id").merge();
      await touch(tx, stream, addedById, addedAt);
    },
    ReleaseFileRemoved: async (tx, { stream, data: { fileId, removedById, removedAt } }) => {
      await tx("release_file").where({ id: fileId }).delete();
      await touch(tx, stream, removedById, removedAt);
    },
    ReleaseDeleted: async (tx, { stream }) => {
      const id = idInStream(stream);
      await tx("release_file").where({ release_id: id }).delete();
      await tx("release").where({ id }).delete();
    },
  },
});

async function touch(
  tx: Tx,
  stream: string,
  authorId: UserId,
  at: string,
  change: Partial<StoredRelease> = {},
): Promise<void> {
  const changed = { ...change, author_id: authorId, updated_at: new Date(at) };
  await tx("release")
    .where({ id: idInStream(stream) })
    .update(changed);
}

/** A release of this very project; another project's is not found. */
export async function findRelease(
  db: Knex,
  projectId: string,
  id: string,
): Promise<ReleaseRow | undefined> {
  const [row] = await withFiles(db, await releases(db, projectId).andWhere("id", id));
  return row;
}

/** The newest that is whole; the newest of all when every one is a pre-release. */
export async function findLatestRelease(
  db: Knex,
  projectId: string,
): Promise<ReleaseRow | undefined> {
  const newest = () => releases(db, projectId).orderBy(newestFirst).limit(1);
  const whole = await newest().andWhere("pre_release", false);
  const [row] = await withFiles(db, whole.length > 0 ? whole : await newest());
  return row;
}

/** Newest first. */
export async function listReleases(
  db: Knex,
  projectId: string,
  {
    limit,
    offset,
    tagName,
  }: Readonly<{ limit: number; offset: number; tagName?: string | undefined }>,
): Promise<Readonly<{ rows: readonly ReleaseRow[]; total: number }>> {
  const wanted = tagName === undefined ? {} : { tag_name: tagName };
  const [rows, counted] = await Promise.all([
    releases(db, projectId).andWhere(wanted).orderBy(newestFirst).limit(limit).offset(offset),
    db("release")
      .where({ project_id: projectId, ...wanted })
      .count({ total: "*" })
      .first(),
  ]);
  return { rows: await withFiles(db, rows), total: Number(counted?.["total"] ?? 0) };
}

/** A file of this release of this very project. */
export function findReleaseFile(
  db: Knex,
  where: Readonly<{ projectId: string; releaseId: string; fileId: string }>,
): Promise<ReleaseFileRow | undefined> {
  return db("release_file")
    .join("release", "release.id", "release_file.release_id")
    .where({
      "release.project_id": where.projectId,
      "release.id": where.releaseId,
      "release_file.id": where.fileId,
    })
    .first("release_file.*");
}

const newestFirst = [
  { column: "created_at", order: "desc" },
  { column: "id", order: "desc" },
];

const releases = (db: Knex, projectId: string) =>
  db<StoredRelease>("release").where("project_id", projectId);

async function withFiles(db: Knex, rows: readonly StoredRelease[]): Promise<readonly ReleaseRow[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const files: ReleaseFileRow[] = await db("release_file")
    .whereIn("release_id", ids)
    .orderBy(["release_id", "revision"]);
  return rows.map((row) => ({
    ...row,
    files: files.filter(({ release_id }) => release_id === row.id),
  }));
}

export async function projectOfRelease(db: Knex, id: string): Promise<string | undefined> {
  const row = await db<StoredRelease>("release")
    .where({ id: id as ReleaseId })
    .first("project_id");
  return row?.project_id;
}
