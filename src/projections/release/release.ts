import type { Knex } from "knex";

import type { ProjectId, ReleaseFileId, ReleaseId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { releaseEvents } from "../../events/release/release.ts";
import { type Change, change, put, remove, statement, type Values } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

export type ReleaseRow = StoredRelease & Readonly<{ files: readonly ReleaseFileRow[] }>;

const releases = defineTable({
  name: "release",
  columns: {
    id: column<ReleaseId>("uuid"),
    project_id: column<ProjectId>("uuid"),
    title: "text",
    description: "text null",
    tag_name: "text",
    pre_release: "boolean",
    /** Where the tag stood when the release was last connected to it. */
    commit_id: "text null",
    /** Of the last change. */
    author_id: column<UserId>("uuid"),
    created_at: "timestamptz",
    updated_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(project_id, created_at, id)"],
});

type StoredRelease = RowOf<typeof releases>;

const files = defineTable({
  name: "release_file",
  columns: {
    id: column<ReleaseFileId>("uuid"),
    release_id: column<ReleaseId>("uuid"),
    name: "text",
    bytes: "bigint",
    md5: "text",
    sha1: "text",
    sha256: "text",
    sha512: "text",
    /** Place among the files of the release. */
    revision: "bigint",
  },
  key: ["id"],
  indexes: ["(release_id, revision)"],
  lateIndexes: ["(sha256)"],
});

export type ReleaseFileRow = RowOf<typeof files>;

export const releaseProjection = defineReadModel({
  name: "release",
  version: 3,
  tables: [releases, files],
  events: { ...releaseEvents, ...purgeEvents },
  effects: {
    ReleaseCreated: ({ data }) =>
      put(releases, {
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
      }),
    ReleaseEdited: ({ stream, data: { details, commitId, editedById, editedAt } }) =>
      touched(stream, editedById, editedAt, {
        title: details.title,
        description: details.description,
        tag_name: details.tagName,
        pre_release: details.preRelease,
        commit_id: commitId,
      }),
    ReleaseFileAdded: ({ stream, revision, data }) => {
      const { fileId: id, name, bytes, md5, sha1, sha256, sha512, addedById, addedAt } = data;
      const content = { bytes: BigInt(bytes), md5, sha1, sha256, sha512 };
      return [
        put(files, { id, release_id: idOf(stream), name, ...content, revision }),
        touched(stream, addedById, addedAt),
      ];
    },
    ReleaseFileRemoved: ({ stream, data: { fileId: id, removedById, removedAt } }) => [
      remove(files, { id }),
      touched(stream, removedById, removedAt),
    ],
    ReleaseDeleted: ({ stream }) => [
      remove(files, { release_id: idOf(stream) }),
      remove(releases, { id: idOf(stream) }),
    ],
    ProjectPurged: ({ data }) => purgeReleases(data.projectId),
  },
});

const idOf = (stream: string) => idInStream(stream) as ReleaseId;

const touched = (
  stream: string,
  author_id: UserId,
  at: string,
  columns: Values<StoredRelease> = {},
): Change =>
  change(releases, { id: idOf(stream) }, { ...columns, author_id, updated_at: new Date(at) });

/** Removes files, which have no project id of their own, with the releases of a project. */
const purgeReleases = (projectId: string): Change =>
  statement(
    `with gone as (delete from release where project_id = ? returning id)
     delete from release_file where release_id in (select id from gone)`,
    [projectId],
  );

/** A release of this very project; another project's is not found. */
export async function findRelease(
  db: Knex,
  projectId: string,
  id: string,
): Promise<ReleaseRow | undefined> {
  const [row] = await withFiles(db, await releasesOf(db, projectId).andWhere("id", id));
  return row;
}

/** The newest that is whole; the newest of all when every one is a pre-release. */
export async function findLatestRelease(
  db: Knex,
  projectId: string,
): Promise<ReleaseRow | undefined> {
  const newest = () => releasesOf(db, projectId).orderBy(newestFirst).limit(1);
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
    releasesOf(db, projectId).andWhere(wanted).orderBy(newestFirst).limit(limit).offset(offset),
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

const releasesOf = (db: Knex, projectId: string) =>
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
