import type { Knex } from "knex";

import type { ProjectId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type UploadedFileId, uploadedFileEvents } from "../../events/project/uploaded-file.ts";
import { put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { countedNear } from "../list/total.ts";

const uploadedFiles = defineTable({
  name: "uploaded_file",
  columns: {
    id: column<UploadedFileId>("uuid"),
    project_id: column<ProjectId>("uuid"),
    name: "text",
    bytes: "bigint",
    sha256: "text",
    uploaded_by_id: column<UserId>("uuid"),
    created_at: "timestamptz",
    /** It counts for the quota of who uploaded it, not for that of the project. */
    is_by_outsider: "boolean",
  },
  key: ["id"],
  indexes: ["(project_id, created_at, id)"],
  lateIndexes: ["(sha256)", "(uploaded_by_id) where is_by_outsider"],
});

export type UploadedFileRow = RowOf<typeof uploadedFiles>;

export const uploadedFileProjection = defineReadModel({
  name: "uploaded_file",
  version: 3,
  tables: [uploadedFiles],
  events: { ...uploadedFileEvents, ...purgeEvents },
  effects: {
    FileUploaded: ({ data }) =>
      put(uploadedFiles, {
        id: data.uploadedFileId,
        project_id: data.projectId,
        name: data.name,
        bytes: BigInt(data.bytes),
        sha256: data.sha256,
        uploaded_by_id: data.uploadedById,
        created_at: new Date(data.uploadedAt),
        is_by_outsider: data.isByOutsider === true,
      }),
    UploadedFileDeleted: ({ stream }) =>
      remove(uploadedFiles, { id: idInStream(stream) as UploadedFileId }),
    ProjectPurged: purgedFrom(uploadedFiles),
  },
});

/** A file of this project; one of another project is not found. */
export function findUploadedFile(
  db: Knex,
  projectId: ProjectId,
  id: UploadedFileId,
): Promise<UploadedFileRow | undefined> {
  return db<UploadedFileRow>("uploaded_file").where({ project_id: projectId, id }).first();
}

type FilePage = Readonly<{ limit: number; offset: number }>;

/** Of one person, or of everybody when there is no id; newest first. */
export async function listUploadedFiles(
  db: Knex,
  projectId: ProjectId,
  uploadedById: UserId | undefined,
  { limit, offset }: FilePage,
): Promise<Readonly<{ rows: readonly UploadedFileRow[]; total: number }>> {
  const of = { project_id: projectId, ...(uploadedById && { uploaded_by_id: uploadedById }) };
  const found = () => db<UploadedFileRow>("uploaded_file").where(of);
  const [rows, total] = await Promise.all([
    found()
      .orderBy([
        { column: "created_at", order: "desc" },
        { column: "id", order: "desc" },
      ])
      .limit(limit)
      .offset(offset),
    countedNear(db, found(), { limit, offset }),
  ]);
  return { rows, total };
}

/** What a person has uploaded to projects without being a member. */
export async function bytesUploadedOutside(db: Knex, userId: string): Promise<number> {
  const [row] = await db("uploaded_file")
    .where({ uploaded_by_id: userId, is_by_outsider: true })
    .sum<{ bytes: string | null }[]>({ bytes: "bytes" });
  return Number(row?.bytes ?? 0);
}
