import type { Knex } from "knex";

import { lfsObjectEvents } from "../../events/git/lfs-object.ts";
import { defineProjection } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";

export type LfsObjectRow = Readonly<{
  project_id: string;
  oid: string;
  bytes: bigint;
  stored_at: Date;
}>;

export const lfsObjectProjection = defineProjection({
  name: "lfs_object",
  version: 2,
  tables: ["lfs_object"],
  async create(tx) {
    await tx.schema.createTable("lfs_object", (table) => {
      table.uuid("project_id").notNullable();
      table.text("oid").notNullable().index();
      table.bigInteger("bytes").notNullable();
      table.timestamp("stored_at").notNullable();
      table.primary(["project_id", "oid"]);
    });
  },
  events: { ...lfsObjectEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: (tx, { data }) => dropRows(tx, data.projectId, { lfs_object: "project_id" }),
    LfsObjectStored: async (tx, { data: { projectId, oid, bytes, storedAt } }) => {
      const row = { project_id: projectId, oid, bytes, stored_at: new Date(storedAt) };
      await tx("lfs_object").insert(row).onConflict(["project_id", "oid"]).merge();
    },
    // By the time of storing, not by what is there: applied again later, it ends the same.
    LfsObjectsInherited: async (tx, { data }) => {
      const { projectId, fromProjectId, objects, inheritedAt } = data;
      if (objects !== undefined) {
        const stored = { project_id: projectId, stored_at: new Date(inheritedAt) };
        const rows = objects.map((object) => ({ ...object, ...stored }));
        if (rows.length > 0) await tx("lfs_object").insert(rows).onConflict().ignore();
        return;
      }
      await tx.raw(
        `insert into lfs_object (project_id, oid, bytes, stored_at)
         select ?, oid, bytes, ? from lfs_object where project_id = ? and stored_at <= ?
         on conflict do nothing`,
        [projectId, new Date(inheritedAt), fromProjectId, new Date(inheritedAt)],
      );
    },
  },
});

/** Of these objects, those that the project has; what others have does not count. */
export async function findLfsObjects(
  db: Knex,
  projectId: string,
  oids: readonly string[],
): Promise<ReadonlyMap<string, LfsObjectRow>> {
  const rows = await db<LfsObjectRow>("lfs_object")
    .where({ project_id: projectId })
    .whereRaw("oid = any(?)", [[...oids]]);
  return new Map(rows.map((row) => [row.oid, row]));
}

export async function findLfsObject(
  db: Knex,
  projectId: string,
  oid: string,
): Promise<LfsObjectRow | undefined> {
  return db<LfsObjectRow>("lfs_object").where({ project_id: projectId, oid }).first();
}

export async function hasLfsObjects(db: Knex, projectId: string): Promise<boolean> {
  return (await db("lfs_object").where({ project_id: projectId }).first("oid")) !== undefined;
}

/** What the objects of a project take together. */
export async function lfsBytes(db: Knex, projectId: string): Promise<number> {
  const [row] = await db("lfs_object")
    .where({ project_id: projectId })
    .sum<{ bytes: string | null }[]>({ bytes: "bytes" });
  return Number(row?.bytes ?? 0);
}
