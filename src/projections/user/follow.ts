import type { Knex } from "knex";

import { followEvents } from "../../events/user/follow.ts";
import { defineProjection } from "../core/projection.ts";
import type { Slice, UserRow } from "./user.ts";

type FollowRow = Readonly<{ follower_id: string; user_id: string; followed_at: Date }>;

export const followProjection = defineProjection({
  name: "follow",
  version: 1,
  tables: ["user_follow"],
  async create(tx) {
    await tx.schema.createTable("user_follow", (table) => {
      table.uuid("follower_id").notNullable();
      table.uuid("user_id").notNullable();
      table.timestamp("followed_at").notNullable();
      table.primary(["follower_id", "user_id"]);
      table.index(["user_id", "followed_at", "follower_id"]);
    });
  },
  events: followEvents,
  handlers: {
    UserFollowed: async (tx, { data }) => {
      const row = {
        follower_id: data.followerId,
        user_id: data.userId,
        followed_at: new Date(data.followedAt),
      };
      await tx<FollowRow>("user_follow").insert(row).onConflict(["follower_id", "user_id"]).merge();
    },
    UserUnfollowed: async (tx, { data }) => {
      await tx<FollowRow>("user_follow")
        .where({ follower_id: data.followerId, user_id: data.userId })
        .delete();
    },
  },
});

export type FollowListRow = UserRow & Readonly<{ subscribed: boolean }>;

export type FollowFilter = Readonly<{
  /** `followers`: who follows this user; `following`: whom this user follows. */
  side: "followers" | "following";
  userId: string;
  /** Whose subscriptions are marked. */
  viewerId: string;
  limit: number;
  offset: number;
}>;

/** Newest first; people who were forgotten are left out. */
export async function listFollows(
  db: Knex,
  { side, userId, viewerId, limit, offset }: FollowFilter,
): Promise<Slice<FollowListRow>> {
  const [own, other] =
    side === "followers" ? ["user_id", "follower_id"] : ["follower_id", "user_id"];
  const shown = () =>
    db("user_follow")
      .join("app_user", "app_user.id", `user_follow.${other}`)
      .where(`user_follow.${own}`, userId)
      .whereNull("app_user.forgotten_at");
  const subscribed = db("user_follow as mine")
    .where("mine.follower_id", viewerId)
    .whereRaw("mine.user_id = app_user.id");
  const [rows, counted] = await Promise.all([
    shown()
      .select("app_user.*", db.raw("exists (?) as subscribed", [subscribed.select(db.raw("1"))]))
      .orderBy([
        { column: "user_follow.followed_at", order: "desc" },
        { column: `user_follow.${other}` },
      ])
      .limit(limit)
      .offset(offset),
    shown().count({ total: "*" }).first(),
  ]);
  return { rows: rows as FollowListRow[], total: Number(counted?.["total"] ?? 0) };
}
