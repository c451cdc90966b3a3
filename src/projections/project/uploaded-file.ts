import type { Knex } from "knex";

import type { ProjectId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type UploadedFileId, uploadedFileEvents } from "../../events/project/uploaded-file.ts";
import { defineProjection } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import { countedNear } from "../core/total.ts";

export type UploadedFileRow = Readonly<{
  id: UploadedFileId;
  project_id: ProjectId;
  name: string;
  bytes: bigint;
  sha256: string;
  uploaded_by_id: UserId;
  created_at: Date;
  /** It counts for the quota of who uploaded it, not for that of the project. */
  is_by_outsider: boolean;
}>;

export const uploadedFileProjection = defineProjection({
  name: "uploaded_file",
  version: 2,
  tables: ["uploaded_file"],
  async create(tx) {
    await tx.schema.createTable("uploaded_file", (table) => {
      table.uuid("id").primary();
      table.uuid("project_id").notNullable();
      table.text("name").notNullable();
      table.bigInteger("bytes").notNullable();
      table.text("sha256").notNullable().index();
      table.uuid("uploaded_by_id").notNullable();
      table.timestamp("created_at").notNullable();
      table.boolean("is_by_outsider").notNullable();
      table.index(["project_id", "created_at", "id"]);
    });
    await tx.raw(
      "create index uploaded_file_outside on uploaded_file (uploaded_by_id) where is_by_outsider",
    );
  },
  events: { ...uploadedFileEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: (tx, { data }) => dropRows(tx, data.projectId, { uploaded_file: "project_id" }),
    FileUploaded: async (tx, { data }) => {
      const row = {
        id: data.uploadedFileId,
        project_id: data.projectId,
        name: data.name,
        bytes: data.bytes,
        sha256: data.sha256,
        uploaded_by_id: data.uploadedById,
        created_at: new Date(data.uploadedAt),
        is_by_outsider: data.isByOutsider === true,
      };
      await tx("uploaded_file").insert(row).onConflict("id").merge();
    },
    UploadedFileDeleted: async (tx, { stream }) => {
      await tx("uploaded_file").where("id", idInStream(stream)).delete();
    },
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
