import type { Knex } from "knex";

import type { UserId } from "../../events/core/ids.ts";
import type { ProjectScope } from "./member-role.ts";

/** The users of these ids who exist and were not forgotten, and whether they may read a project. */
export type PossibleReaders = ReadonlyMap<string, Readonly<{ id: UserId; reads: boolean }>>;

/** Decides as `projectRole` does, for many users in one query; banned users cannot read. */
export async function possibleReaders(
  db: Knex,
  project: ProjectScope,
  userIds: readonly string[],
): Promise<PossibleReaders> {
  if (userIds.length === 0) return new Map();
  const { id, owner_id, owner_company_id, owner_user_id, is_private } = project;
  const parents = [id, owner_id, owner_company_id].filter((parent) => parent !== null);
  const { rows } = await db.raw<{ rows: readonly { id: UserId; reads: boolean }[] }>(
    `select app_user.id,
       banned_at is null and (not ?::boolean or app_user.id = ?::uuid or exists (
         select 1 from member where user_id = app_user.id and parent_id = any(?::uuid[])
       )) as reads
     from app_user where id = any(?::uuid[]) and forgotten_at is null`,
    [is_private, owner_user_id, parents, [...userIds]],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
