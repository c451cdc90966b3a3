import { follow } from "../../../src/commands/user/follow.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import type { followEvents } from "../../../src/events/user/follow.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type FollowEvent = EventOf<typeof followEvents>;

const given = specify(follow);
const followerId = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const userId = UserId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const pair = { followerId, userId } as const;

const followed: FollowEvent = { type: "UserFollowed", data: { ...pair, followedAt: at } };
const unfollowed: FollowEvent = { type: "UserUnfollowed", data: { ...pair, unfollowedAt: at } };

describe("following a user", () => {
  const command = { type: "FollowUser", ...pair, at } as const;

  it("is recorded once, and again after it ended", () => {
    given().when(command).gives(followed);
    given(followed).when(command).givesNothing();
    given(followed, unfollowed).when(command).gives(followed);
  });

  it("is refused when it is oneself", () => {
    given()
      .when({ ...command, userId: followerId })
      .refuses("follow.self");
  });
});

describe("following a user no more", () => {
  it("is recorded once, and never of what was not", () => {
    const command = { type: "UnfollowUser", ...pair, at } as const;
    given(followed).when(command).gives(unfollowed);
    given().when(command).givesNothing();
    given(followed, unfollowed).when(command).givesNothing();
  });
});
