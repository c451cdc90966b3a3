import type { Knex } from "knex";

import { lfsObjectEvents } from "../../events/git/lfs-object.ts";
import { put, statement } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { defineTable, type RowOf } from "../core/table.ts";

const objects = defineTable({
  name: "lfs_object",
  columns: {
    project_id: "uuid",
    oid: "text",
    bytes: "bigint",
    stored_at: "timestamptz",
  },
  key: ["project_id", "oid"],
  // A project has an object since the first time.
  writtenOnce: ["bytes", "stored_at"],
  lateIndexes: ["(oid)"],
});

export type LfsObjectRow = RowOf<typeof objects>;

export const lfsObjectProjection = defineReadModel({
  name: "lfs_object",
  version: 3,
  tables: [objects],
  events: { ...lfsObjectEvents, ...purgeEvents },
  effects: {
    ProjectPurged: purgedFrom(objects),
    LfsObjectStored: ({ data: { projectId: project_id, oid, bytes, storedAt } }) =>
      put(objects, { project_id, oid, bytes: BigInt(bytes), stored_at: new Date(storedAt) }),
    LfsObjectsInherited: ({ data: { projectId: project_id, inheritedAt, ...data } }) => {
      const stored_at = new Date(inheritedAt);
      return data.objects === undefined
        ? statement(inheritAll, { project_id, from: data.fromProjectId, stored_at })
        : data.objects.map(({ oid, bytes }) =>
            put(objects, { project_id, oid, bytes: BigInt(bytes), stored_at }),
          );
    },
  },
});

/**
 * What older events that name no objects mean: all that the other project had. By the time of storing, not by what is
 * there: applied again later, it ends the same.
 */
const inheritAll = `
  insert into lfs_object (project_id, oid, bytes, stored_at)
  select :project_id, oid, bytes, :stored_at from lfs_object
  where project_id = :from and stored_at <= :stored_at
  on conflict do nothing`;

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
