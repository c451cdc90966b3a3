import type { Knex } from "knex";
import { followEvents } from "../../events/user/follow.ts";
import { put, remove } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { defineTable } from "../core/table.ts";
import { partOf, type Slice } from "../list/list-rows.ts";
import type { UserRow } from "./user.ts";

const follows = defineTable({
  name: "user_follow",
  columns: { follower_id: "uuid", user_id: "uuid", followed_at: "timestamptz" },
  key: ["follower_id", "user_id"],
  lateIndexes: ["(user_id, followed_at, follower_id)"],
});

export const followProjection = defineReadModel({
  name: "follow",
  version: 2,
  tables: [follows],
  events: followEvents,
  effects: {
    UserFollowed: ({ data: { followerId: follower_id, userId: user_id, followedAt } }) =>
      put(follows, { follower_id, user_id, followed_at: new Date(followedAt) }),
    UserUnfollowed: ({ data: { followerId: follower_id, userId: user_id } }) =>
      remove(follows, { follower_id, user_id }),
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
  const matching = () =>
    db("user_follow")
      .join("app_user", "app_user.id", `user_follow.${other}`)
      .where(`user_follow.${own}`, userId)
      .whereNull("app_user.forgotten_at");
  const subscribed = db("user_follow as mine")
    .where("mine.follower_id", viewerId)
    .whereRaw("mine.user_id = app_user.id");
  const newestFirst = (rows: Knex.QueryBuilder) =>
    rows
      .select("app_user.*", db.raw("exists (?) as subscribed", [subscribed.select(db.raw("1"))]))
      .orderBy([
        { column: "user_follow.followed_at", order: "desc" },
        { column: `user_follow.${other}` },
      ]);
  return partOf(matching, newestFirst, { limit, offset });
}
