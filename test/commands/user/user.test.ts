import { randomUUID } from "node:crypto";

import { user } from "../../../src/commands/user/user.ts";
import { Alias, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { UserEvent } from "../../../src/events/user/user.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(user);
const userId = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const admin = UserId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const box = Sealed.parse(`sealed.user-${userId}.AAAA`);

const facts = {
  userId,
  alias: Alias.parse("anna"),
  email: box,
  emailDigest: "d1",
  passwordHash: null,
  admin: false,
  confirmed: true,
} as const;
const registered: UserEvent = { type: "UserRegistered", data: { ...facts, registeredAt: at } };
const banned: UserEvent = {
  type: "UserBanned",
  data: { reason: box, bannedById: admin, bannedAt: at },
};
const unbanned: UserEvent = { type: "UserUnbanned", data: { unbannedById: admin, unbannedAt: at } };
const forgotten: UserEvent = { type: "UserForgotten", data: { forgottenAt: at } };
const ban = { type: "BanUser", reason: box, by: admin, at } as const;
const unban = { type: "UnbanUser", by: admin, at } as const;

describe("registering a user", () => {
  it("records who it is", () => {
    given()
      .when({ type: "RegisterUser", ...facts, at })
      .gives(registered);
  });

  it("is refused a second time", () => {
    given(registered)
      .when({ type: "RegisterUser", ...facts, at })
      .refuses("user.exists");
  });
});

describe("changing a user", () => {
  const by = { by: admin, at } as const;
  const changed = { changedById: admin, changedAt: at } as const;
  const renamed: UserEvent = {
    type: "UserAliasChanged",
    data: { alias: Alias.parse("anne"), previousAlias: facts.alias, ...changed },
  };
  const rename = { type: "ChangeUserAlias", alias: Alias.parse("anne"), ...by } as const;

  it("records the alias left and the one taken, and nothing when they are one", () => {
    given(registered).when(rename).gives(renamed);
    given(registered, renamed).when(rename).givesNothing();
  });

  it("records another e-mail, sealed, with the digests of both", () => {
    const wanted = { email: box, emailDigest: "d2", confirmed: false };
    const takeBack = { takeBackId: randomUUID(), tokenHash: "h", expiresAt: at };
    given(registered)
      .when({ type: "ChangeUserEmail", ...wanted, takeBack, ...by })
      .gives({
        type: "UserEmailChanged",
        data: { ...wanted, previousEmailDigest: "d1", ...changed },
      });
    given(registered)
      .when({ type: "ChangeUserEmail", ...wanted, emailDigest: "d1", takeBack, ...by })
      .givesNothing();
  });

  it("records passwords and profiles as given", () => {
    given(registered)
      .when({ type: "ChangeUserPassword", passwordHash: box, ...by })
      .gives({ type: "UserPasswordChanged", data: { passwordHash: box, ...changed } });
    const profile = { name: box, surname: null, avatar: null, cover: null };
    given(registered, banned)
      .when({ type: "ChangeUserProfile", ...profile, ...by })
      .gives({ type: "UserProfileChanged", data: { ...profile, ...changed } });
  });

  it("records only the fields of a profile that are given, and nothing without any", () => {
    given(registered)
      .when({ type: "ChangeUserProfile", name: box, surname: undefined, ...by })
      .gives({ type: "UserProfileChanged", data: { name: box, ...changed } });
    given(registered)
      .when({ type: "ChangeUserProfile", ...by })
      .givesNothing();
  });

  it("is refused for an unknown or forgotten user, and lifts no ban", () => {
    given().when(rename).refuses("user.not_found");
    given(registered, forgotten).when(rename).refuses("user.not_found");
    given(registered, banned, renamed).when(ban).refuses("user.already_blocked");
  });
});

describe("banning a user", () => {
  it("records by whom and why", () => {
    given(registered).when(ban).gives(banned);
  });

  it("is refused when already banned, and possible again after an unban", () => {
    given(registered, banned).when(ban).refuses("user.already_blocked");
    given(registered, banned, unbanned).when(ban).gives(banned);
  });

  it("is refused for an unknown or forgotten user", () => {
    given().when(ban).refuses("user.not_found");
    given(registered, forgotten).when(ban).refuses("user.not_found");
  });
});

describe("unbanning a user", () => {
  it("lifts a ban, and does nothing without one", () => {
    given(registered, banned).when(unban).gives(unbanned);
    given(registered).when(unban).givesNothing();
    given().when(unban).refuses("user.not_found");
  });
});

describe("forgetting a user", () => {
  it("happens once", () => {
    given(registered).when({ type: "ForgetUser", at }).gives(forgotten);
    given(registered, banned).when({ type: "ForgetUser", at }).gives(forgotten);
    given(registered, forgotten).when({ type: "ForgetUser", at }).givesNothing();
  });

  it("is refused for an unknown user", () => {
    given().when({ type: "ForgetUser", at }).refuses("user.not_found");
  });
});
