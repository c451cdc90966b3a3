import type { Knex } from "knex";

import type { ProjectId, UserId } from "../../events/core/ids.ts";
import { type UploadedFileId, uploadedFileEvents } from "../../events/project/uploaded-file.ts";
import { defineProjection } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";

export type UploadedFileRow = Readonly<{
  id: UploadedFileId;
  project_id: ProjectId;
  name: string;
  bytes: bigint;
  sha256: string;
  uploaded_by_id: UserId;
  created_at: Date;
}>;

export const uploadedFileProjection = defineProjection({
  name: "uploaded_file",
  version: 1,
  tables: ["uploaded_file"],
  async create(tx) {
    await tx.schema.createTable("uploaded_file", (table) => {
      table.uuid("id").primary();
      table.uuid("project_id").notNullable().index();
      table.text("name").notNullable();
      table.bigInteger("bytes").notNullable();
      table.text("sha256").notNullable().index();
      table.uuid("uploaded_by_id").notNullable();
      table.timestamp("created_at").notNullable();
    });
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
      };
      await tx("uploaded_file").insert(row).onConflict("id").merge();
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
