import type { Knex } from "knex";

import type { UserId } from "../../events/core/ids.ts";
import { type ParentType, Role } from "../../events/core/role.ts";
import { membershipEvents } from "../../events/team/membership.ts";
import { change, put, remove } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { partPattern } from "../list/folded.ts";
import { partOf, type Slice } from "../list/list-rows.ts";
import type { UserRow } from "../user/user.ts";

const members = defineTable({
  name: "member",
  columns: {
    parent_id: "uuid",
    parent_type: column<ParentType>("text"),
    user_id: column<UserId>("uuid"),
    role: column<Role>("text"),
    /** Place of the role among the roles, so that the highest of several is a maximum. */
    role_rank: "smallint",
    added_at: "timestamptz",
  },
  // The question of every request: what is this user here?
  key: ["user_id", "parent_id"],
  indexes: ["(parent_id, added_at, user_id)"],
});

type MemberRow = RowOf<typeof members>;

export const memberProjection = defineReadModel({
  name: "member",
  announces: "access",
  version: 3,
  tables: [members],
  events: { ...membershipEvents, ...purgeEvents },
  effects: {
    MemberAdded: ({ data }) =>
      put(members, {
        parent_id: data.parentId,
        parent_type: data.parentType,
        user_id: data.userId,
        role: data.role,
        role_rank: rankOf(data.role),
        added_at: new Date(data.addedAt),
      }),
    MemberRoleChanged: ({ data: { parentId: parent_id, userId: user_id, role } }) =>
      change(members, { parent_id, user_id }, { role, role_rank: rankOf(role) }),
    MemberRemoved: ({ data: { parentId: parent_id, userId: user_id } }) =>
      remove(members, { parent_id, user_id }),
    ProjectPurged: ({ data }) => remove(members, { parent_id: data.projectId }),
  },
});

const rankOf = (role: Role): number => Role.options.indexOf(role);

/**
 * The highest role that membership in any of these parents gives, by one read of one index; undefined
 * without any.
 */
export async function highestRole(
  db: Knex,
  userId: string,
  parentIds: readonly string[],
): Promise<Role | undefined> {
  const found = await db<MemberRow>("member")
    .where("user_id", userId)
    .whereIn("parent_id", parentIds)
    .max({ rank: "role_rank" })
    .first();
  const rank: unknown = found?.["rank"];
  return typeof rank === "number" ? Role.options[rank] : undefined;
}

/** The same for several users; who is no member of any is left out. */
export async function highestRoles(
  db: Knex,
  userIds: readonly string[],
  parentIds: readonly string[],
): Promise<ReadonlyMap<string, Role>> {
  if (userIds.length === 0) return new Map();
  const rows: readonly Readonly<{ user_id: string; rank: number }>[] = await db("member")
    .whereRaw("user_id = any(?::uuid[])", [[...userIds]])
    .whereIn("parent_id", parentIds)
    .groupBy("user_id")
    .select("user_id")
    .max({ rank: "role_rank" });
  return new Map(
    rows.flatMap(({ user_id, rank }) => {
      const role = Role.options[rank];
      return role === undefined ? [] : [[user_id, role] as const];
    }),
  );
}

/** Those of the users who are members of one of these. */
export async function membersAmong(
  db: Knex,
  userIds: readonly string[],
  parentIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (userIds.length === 0) return new Set();
  const rows = await db<MemberRow>("member")
    .whereIn("user_id", userIds)
    .whereIn("parent_id", parentIds)
    .distinct("user_id");
  return new Set(rows.map(({ user_id }) => user_id));
}

export type RoleFilter = Readonly<{
  parentIds: readonly string[];
  ownerUserId: string | null;
  /** Or a higher one. */
  role: Role;
  limit: number;
}>;

/** The owner, and those to whom membership in any of these parents gives the role, by alias. */
export async function usersWithRole(
  db: Knex,
  { parentIds, ownerUserId, role, limit }: RoleFilter,
): Promise<readonly UserRow[]> {
  const members = db("member")
    .whereIn("parent_id", parentIds)
    .where("role_rank", ">=", rankOf(role))
    .select("user_id");
  return db<UserRow>("app_user")
    .whereNull("forgotten_at")
    .where((either) => {
      either.whereIn("id", members);
      if (ownerUserId !== null) either.orWhere("id", ownerUserId);
    })
    .orderBy("alias_normalised")
    .limit(limit);
}

export type UserWithRole = UserRow & Readonly<{ role: Role }>;

export type MemberFilter = Readonly<{
  parentId: string;
  /** Shown first, as ADMIN, whatever role was given to them. */
  ownerId: string;
  /** Part of the alias, in any case. */
  alias?: string | undefined;
  limit: number;
  offset: number;
}>;

/** The owner, then the members in the order in which they came. */
export async function listMembers(
  db: Knex,
  { parentId, ownerId, alias, limit, offset }: MemberFilter,
): Promise<Slice<UserWithRole>> {
  const everybody = () =>
    db("member")
      .where("parent_id", parentId)
      .select("user_id")
      .union(db.raw("select ?::uuid", [ownerId]));
  const matching = () => {
    const query = db("app_user")
      .leftJoin("member", (join) =>
        join.on("member.user_id", "app_user.id").andOnVal("member.parent_id", parentId),
      )
      .whereIn("app_user.id", everybody())
      .where((either) => either.where("app_user.id", ownerId).orWhereNull("app_user.forgotten_at"));
    if (alias !== undefined) {
      query.whereRaw("public.folded(app_user.alias) ~ ?", [partPattern(alias)]);
    }
    return query;
  };
  const role = "case when app_user.id = ? then 'ADMIN' else member.role end as role";
  const ownerFirst = (rows: Knex.QueryBuilder) =>
    rows
      .select("app_user.*", db.raw(role, [ownerId]))
      .orderByRaw("(app_user.id = ?) desc, member.added_at, app_user.id", [ownerId]);
  return partOf(matching, ownerFirst, { limit, offset });
}
