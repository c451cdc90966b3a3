import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import { userStream } from "../../../src/events/user/user.ts";
import {
  findUser,
  findUserById,
  listUsers,
  userProjection,
} from "../../../src/projections/user/user.ts";
import { at, history } from "../../support/app/history.ts";
import { context, project, reset } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

const anna = randomUUID();
const boris = randomUUID();
const box = (subject: string) => `sealed.user-${subject}.AAAA`;

const registered = (userId: string, alias: string): AnyEvent => ({
  type: "UserRegistered",
  data: {
    userId,
    alias,
    email: box(userId),
    emailDigest: "d",
    passwordHash: null,
    admin: false,
    confirmed: true,
    registeredAt: at,
  },
});
const banned = { type: "UserBanned", data: { reason: null, bannedById: anna, bannedAt: at } };
const unbanned = { type: "UserUnbanned", data: { unbannedById: anna, unbannedAt: at } };
const forgotten = { type: "UserForgotten", data: { forgottenAt: at } };

describe("the user read model", () => {
  beforeEach(() => reset(db, userProjection));

  const apply = (...events: readonly (readonly [string, AnyEvent])[]) => {
    const written = events.map(([id, event]) => [userStream(id), event] as const);
    return project(db, userProjection, history(...written), context);
  };

  it("finds a user by alias in any case, and by id", async () => {
    await apply([anna, registered(anna, "Anna")]);
    const row = await findUser(db, "aNNa");
    expect(row).to.include({ id: anna, alias: "Anna", email: box(anna), banned_at: null });
    expect(await findUserById(db, anna)).to.deep.equal(row);
    expect(await findUser(db, "boris")).to.equal(undefined);
  });

  it("shows a ban until it is lifted", async () => {
    await apply([anna, registered(anna, "anna")], [anna, banned]);
    expect((await findUserById(db, anna))?.banned_at).to.deep.equal(new Date(at));
    await reset(db, userProjection);
    await apply([anna, registered(anna, "anna")], [anna, banned], [anna, unbanned]);
    expect((await findUserById(db, anna))?.banned_at).to.equal(null);
  });

  it("shows alias, e-mail, password and profile as they were last changed", async () => {
    const changed = { changedById: anna, changedAt: at };
    await apply(
      [anna, registered(anna, "anna")],
      [
        anna,
        { type: "UserAliasChanged", data: { alias: "Anne", previousAlias: "anna", ...changed } },
      ],
      [
        anna,
        {
          type: "UserEmailChanged",
          data: {
            email: `${box(anna)}B`,
            emailDigest: "e",
            previousEmailDigest: "d",
            confirmed: false,
            ...changed,
          },
        },
      ],
      [anna, { type: "UserPasswordChanged", data: { passwordHash: box(anna), ...changed } }],
      [
        anna,
        {
          type: "UserProfileChanged",
          data: { name: box(anna), surname: null, avatar: null, cover: null, ...changed },
        },
      ],
    );
    expect(await findUser(db, "anna")).to.equal(undefined);
    expect(await findUser(db, "anne")).to.include({
      alias: "Anne",
      email: `${box(anna)}B`,
      is_confirmed: false,
      password_hash: box(anna),
      name: box(anna),
      surname: null,
    });
  });

  it("finds users by whole values and by parts, in which no character is special", async () => {
    await apply([anna, registered(anna, "an_na")], [boris, registered(boris, "anxna")]);
    const found = async (filter: { alias?: string; email?: string; part?: string }) =>
      (await listUsers(db, { ...filter, limit: 10, offset: 0 })).rows.map(({ alias }) => alias);
    expect(await found({ part: "N_N" })).to.deep.equal(["an_na"]);
    expect(await found({ part: boris.toUpperCase() })).to.deep.equal(["anxna"]);
    expect(await found({ part: "%" })).to.deep.equal([]);
    expect(await found({ alias: "AN_NA" })).to.deep.equal(["an_na"]);
    expect(await found({ alias: "an_n" })).to.deep.equal([]);
    expect(await found({ alias: "an_na", email: "nobody" })).to.deep.equal([]);
  });

  it("drops all personal data of a forgotten user, and lists them no more", async () => {
    await apply(
      [anna, registered(anna, "anna")],
      [boris, registered(boris, "boris")],
      [anna, forgotten],
    );
    const row = await findUserById(db, anna);
    expect(row).to.include({ email: null, password_hash: null, name: null });
    expect(row?.forgotten_at).to.deep.equal(new Date(at));
    const { rows, total } = await listUsers(db, { limit: 10, offset: 0 });
    expect(rows.map(({ alias }) => alias)).to.deep.equal(["boris"]);
    expect(total).to.equal(1);
  });

  it("shows null where the key is gone before the event is applied", async () => {
    const log = history([userStream(anna), registered(anna, "anna")]);
    await project(db, userProjection, log, { open: () => Promise.resolve(null) });
    expect((await findUserById(db, anna))?.email).to.equal(null);
  });

  it("pages in a total order", async () => {
    const ids = Array.from({ length: 5 }, () => randomUUID());
    await apply(...ids.map((id, n) => [id, registered(id, `user-${n}`)] as const));
    const pages = await Promise.all([0, 2, 4].map((offset) => listUsers(db, { limit: 2, offset })));
    const seen = pages.flatMap(({ rows }) => rows.map(({ id }) => id));
    expect([...seen].sort()).to.deep.equal([...ids].sort());
    expect(pages.map(({ total }) => total)).to.deep.equal([5, 5, 5]);
  });
});
