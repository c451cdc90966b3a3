import type { Knex } from "knex";

import { lfsLockEvents } from "../../events/git/lfs-lock.ts";
import { put, remove } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { defineTable, type RowOf } from "../core/table.ts";

export type LfsLockRow = StoredLock & Readonly<{ locked_by_alias: string }>;

const storedLocks = defineTable({
  name: "lfs_lock",
  columns: {
    id: "uuid",
    project_id: "uuid",
    path: 'text collate "C"',
    locked_by_id: "uuid",
    locked_at: "timestamptz",
  },
  key: ["id"],
  // A path may be longer than what an index takes of a text; its digest is not.
  unique: ["(project_id, md5(path))"],
  indexes: ["(project_id, id)"],
});

type StoredLock = RowOf<typeof storedLocks>;

export const lfsLockProjection = defineReadModel({
  name: "lfs_lock",
  version: 3,
  tables: [storedLocks],
  events: { ...lfsLockEvents, ...purgeEvents },
  effects: {
    ProjectPurged: purgedFrom(storedLocks),
    LfsFileLocked: ({ data: { lockId, projectId, path, lockedById, lockedAt } }) =>
      put(storedLocks, {
        id: lockId,
        project_id: projectId,
        path,
        locked_by_id: lockedById,
        locked_at: new Date(lockedAt),
      }),
    LfsFileUnlocked: ({ data: { lockId: id } }) => remove(storedLocks, { id }),
  },
});

const locks = (db: Knex, projectId: string) =>
  db("lfs_lock")
    .join("app_user", "app_user.id", "lfs_lock.locked_by_id")
    .where("lfs_lock.project_id", projectId)
    .select<LfsLockRow[]>("lfs_lock.*", "app_user.alias as locked_by_alias");

/** A lock in this very project; another project's is not found. */
export async function findLfsLock(
  db: Knex,
  projectId: string,
  id: string,
): Promise<LfsLockRow | undefined> {
  const [row] = await locks(db, projectId).where("lfs_lock.id", id);
  return row;
}

export async function findLfsLockAt(
  db: Knex,
  projectId: string,
  path: string,
): Promise<LfsLockRow | undefined> {
  const [row] = await locks(db, projectId)
    .whereRaw("md5(lfs_lock.path) = md5(?)", [path])
    .andWhere("lfs_lock.path", path);
  return row;
}

export type LockPage = Readonly<{
  /** Of the lock the page begins after. */
  after?: string | undefined;
  countMax: number;
}>;

export function listLfsLocks(
  db: Knex,
  projectId: string,
  { after, countMax }: LockPage,
): Promise<readonly LfsLockRow[]> {
  const query = locks(db, projectId).orderBy("lfs_lock.id").limit(countMax);
  return after === undefined ? query : query.andWhere("lfs_lock.id", ">", after);
}

/** Those of these paths that are locked: path → holder of the lock. */
export async function lockersOf(
  db: Knex,
  projectId: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (paths.length === 0) return new Map();
  const rows = await locks(db, projectId).whereRaw("lfs_lock.path = any(?)", [[...paths]]);
  return new Map(rows.map((row) => [row.path, row.locked_by_alias]));
}

/** Whether another user has locked a file of the project. */
export async function hasLocksOfOthers(
  db: Knex,
  projectId: string,
  userId: string | null,
): Promise<boolean> {
  const query = db("lfs_lock").where({ project_id: projectId });
  if (userId !== null) query.whereNot({ locked_by_id: userId });
  return (await query.first("id")) !== undefined;
}

/** Of these paths, those that others than this user have locked. */
export async function lockedByOthers(
  db: Knex,
  projectId: string,
  { userId, paths }: Readonly<{ userId: string | null; paths: readonly string[] }>,
): Promise<readonly LfsLockRow[]> {
  const query = locks(db, projectId).whereRaw("lfs_lock.path = any(?)", [[...paths]]);
  if (userId !== null) query.whereNot("lfs_lock.locked_by_id", userId);
  return query.orderBy("lfs_lock.path").limit(20);
}
