import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import { followPair, followStream } from "../../../src/events/user/follow.ts";
import { userStream } from "../../../src/events/user/user.ts";
import { followProjection, listFollows } from "../../../src/projections/user/follow.ts";
import { userProjection } from "../../../src/projections/user/user.ts";
import { at, history } from "../../support/app/history.ts";
import { context, project, reset, rewind, rowsOf } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const [anna, boris, clara] = [randomUUID(), randomUUID(), randomUUID()];

const registered = (userId: string, alias: string) =>
  [
    userStream(userId),
    {
      type: "UserRegistered",
      data: {
        userId,
        alias,
        email: `sealed.user-${userId}.AAAA`,
        emailDigest: "d",
        passwordHash: null,
        admin: false,
        confirmed: true,
        registeredAt: at,
      },
    },
  ] as const;

const follows = (followerId: string, userId: string, followedAt = at): [string, AnyEvent] => [
  followStream(followPair(followerId, userId)),
  { type: "UserFollowed", data: { followerId, userId, followedAt } },
];
const unfollows = (followerId: string, userId: string): [string, AnyEvent] => [
  followStream(followPair(followerId, userId)),
  { type: "UserUnfollowed", data: { followerId, userId, unfollowedAt: at } },
];

const log = history(
  registered(anna, "anna"),
  registered(boris, "boris"),
  registered(clara, "clara"),
  follows(boris, anna, "2026-01-01T00:00:00.000Z"),
  follows(clara, anna, "2026-01-02T00:00:00.000Z"),
  follows(anna, clara),
  follows(anna, boris),
  unfollows(anna, boris),
);

describe("the follow read model", () => {
  before(async () => {
    for (const projection of [userProjection, followProjection]) {
      await reset(db, projection);
      await project(db, projection, log, context);
    }
  });

  const list = (side: "followers" | "following", userId: string, limit = 10, offset = 0) =>
    listFollows(db, { side, userId, viewerId: anna, limit, offset });

  it("lists followers, newest first, and says whom the viewer follows", async () => {
    const { rows, total } = await list("followers", anna);
    expect(rows.map(({ alias, subscribed }) => [alias, subscribed])).to.deep.equal([
      ["clara", true],
      ["boris", false],
    ]);
    expect(total).to.equal(2);
  });

  it("lists whom a user follows, without whom they follow no more", async () => {
    const { rows, total } = await list("following", anna);
    expect(rows.map(({ alias }) => alias)).to.deep.equal(["clara"]);
    expect(total).to.equal(1);
  });

  it("pages", async () => {
    const { rows, total } = await list("followers", anna, 1, 1);
    expect(rows.map(({ alias }) => alias)).to.deep.equal(["boris"]);
    expect(total).to.equal(2);
  });

  it("ends the same when its events are delivered again", async () => {
    const rows = await rowsOf(db, followProjection);
    await rewind(db, followProjection);
    await project(db, followProjection, log, context);
    expect(await rowsOf(db, followProjection)).to.deep.equal(rows);
  });
});
