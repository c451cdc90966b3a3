import type { UserId } from "../../events/core/ids.ts";
import { followEvents, followStream } from "../../events/user/follow.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

export type FollowCommand = Readonly<{
  type: "FollowUser" | "UnfollowUser";
  followerId: UserId;
  userId: UserId;
  at: string;
}>;

type State = Readonly<{ follows: boolean }>;

export const follow: Slice<State, FollowCommand, typeof followEvents> = {
  events: followEvents,
  stream: followStream,
  initialState: { follows: false },

  decide(state, { type, followerId, userId, at }) {
    switch (type) {
      case "FollowUser":
        if (followerId === userId) {
          throw new Refusal("unprocessable", "follow.self", "You cannot follow yourself.");
        }
        if (state.follows) return [];
        return [{ type: "UserFollowed", data: { followerId, userId, followedAt: at } }];
      case "UnfollowUser":
        if (!state.follows) return [];
        return [{ type: "UserUnfollowed", data: { followerId, userId, unfollowedAt: at } }];
      default:
        return unreachable(type);
    }
  },

  evolve(_state, event) {
    switch (event.type) {
      case "UserFollowed":
        return { follows: true };
      case "UserUnfollowed":
        return { follows: false };
      default:
        return unreachable(event);
    }
  },
};
