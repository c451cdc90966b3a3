import type { Knex } from "knex";

import type { ProjectId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type UploadedFileId, uploadedFileEvents } from "../../events/project/uploaded-file.ts";
import { put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { type Part, partOf, type Slice } from "../list/list-rows.ts";
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

/** Of one person, or of everybody when there is no id; newest first. */
export function listUploadedFiles(
  db: Knex,
  projectId: ProjectId,
  uploadedById: UserId | undefined,
  part: Part,
): Promise<Slice<UploadedFileRow>> {
  const of = { project_id: projectId, ...(uploadedById && { uploaded_by_id: uploadedById }) };
  const newest = ["created_at", "id"].map((column) => ({ column, order: "desc" as const }));
  return partOf(
    () => db("uploaded_file").where(of),
    (rows) => rows.orderBy(newest),
    part,
    (all) => countedNear(db, all, part),
  );
}

/** What a person has uploaded to projects without being a member. */
export async function bytesUploadedOutside(db: Knex, userId: string): Promise<number> {
  const [row] = await db("uploaded_file")
    .where({ uploaded_by_id: userId, is_by_outsider: true })
    .sum<{ bytes: string | null }[]>({ bytes: "bytes" });
  return Number(row?.bytes ?? 0);
}
