import { user } from "../../../src/commands/user/user.ts";
import { Alias, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { UserEvent } from "../../../src/events/user/user.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(user);
const userId = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const box = Sealed.parse(`sealed.user-${userId}.AAAA`);
const later = "2026-01-02T05:00:00.000Z";
const id = "5f0c8a51-7f6e-4c0c-9d0a-0c7f6f1a2b3c";

const registered = (confirmed: boolean, passwordHash: Sealed | null = box): UserEvent => ({
  type: "UserRegistered",
  data: {
    userId,
    alias: Alias.parse("anna"),
    email: box,
    emailDigest: "d1",
    passwordHash,
    admin: false,
    confirmed,
    registeredAt: at,
  },
});
const link = { tokenHash: "h1", expiresAt: later };
const requested: UserEvent = {
  type: "UserEmailConfirmationRequested",
  data: { confirmationId: id, emailDigest: "d1", ...link, requestedAt: at },
};
const confirmed: UserEvent = {
  type: "UserEmailConfirmed",
  data: { emailDigest: "d1", confirmedAt: at },
};
const resetRequested: UserEvent = {
  type: "UserPasswordResetRequested",
  data: { resetId: id, ...link, requestedAt: at },
};
const passwordChanged: UserEvent = {
  type: "UserPasswordChanged",
  data: { passwordHash: box, changedById: userId, changedAt: at },
};
const banned: UserEvent = {
  type: "UserBanned",
  data: { reason: null, bannedById: userId, bannedAt: at },
};
const forgotten: UserEvent = { type: "UserForgotten", data: { forgottenAt: at } };
const moved: UserEvent = {
  type: "UserEmailChanged",
  data: {
    email: box,
    emailDigest: "d2",
    previousEmailDigest: "d1",
    confirmed: false,
    changedById: userId,
    changedAt: at,
  },
};

describe("asking for the confirmation of an e-mail", () => {
  const command = { type: "RequestEmailConfirmation", confirmationId: id, ...link, at } as const;

  it("creates a link for a user who has not proved it", () => {
    given(registered(false)).when(command).gives(requested);
    // Confirmed by a setting, which proves nothing.
    given(registered(true)).when(command).gives(requested);
  });

  it("changes nothing for other users, and gives no reason", () => {
    given().when(command).givesNothing();
    given(registered(false), requested, confirmed).when(command).givesNothing();
    given(registered(false), banned).when(command).givesNothing();
    given(registered(false), forgotten).when(command).givesNothing();
  });
});

describe("confirming an e-mail", () => {
  const command = { type: "ConfirmEmail", tokenHash: "h1", at } as const;

  it("works once, by the newest link and before it expires", () => {
    given(registered(false), requested).when(command).gives(confirmed);
    given(registered(false), requested, confirmed).when(command).refuses("link.invalid");
    given(registered(false), requested)
      .when({ ...command, tokenHash: "h2" })
      .refuses("link.invalid");
    given(registered(false), requested)
      .when({ ...command, at: later })
      .refuses("link.invalid");
    given().when(command).refuses("link.invalid");
    given(registered(false), requested, banned).when(command).refuses("link.invalid");
  });

  it("does not work by a link that went to another address", () => {
    given(registered(false), requested, moved).when(command).refuses("link.invalid");
  });

  it("does not work by a link for a password", () => {
    given(registered(true), resetRequested).when(command).refuses("link.invalid");
  });
});

describe("asking for a new password", () => {
  const command = { type: "RequestPasswordReset", resetId: id, ...link, parts: [], at } as const;

  it("creates a link for a user who has proved the address", () => {
    given(registered(true)).when(command).gives(resetRequested);
    given(registered(false), requested, confirmed).when(command).gives(resetRequested);
  });

  it("changes nothing for other users", () => {
    given().when(command).givesNothing();
    given(registered(false)).when(command).givesNothing();
    given(registered(true), moved).when(command).givesNothing();
    given(registered(true), banned).when(command).givesNothing();
    given(registered(true, null)).when(command).givesNothing();
    given(registered(true, null), passwordChanged).when(command).gives(resetRequested);
  });
});

describe("setting a new password by a link", () => {
  const command = { type: "ResetPassword", tokenHashes: ["h1"], passwordHash: box, at } as const;

  it("works once and before it expires", () => {
    given(registered(true), resetRequested).when(command).gives(passwordChanged);
    given(registered(true), resetRequested, passwordChanged).when(command).refuses("link.invalid");
    given(registered(true), resetRequested)
      .when({ ...command, at: later })
      .refuses("link.invalid");
    given(registered(true)).when(command).refuses("link.invalid");
  });

  it("does not work once the address changed, or the account is blocked", () => {
    given(registered(true), resetRequested, moved).when(command).refuses("link.invalid");
    given(registered(true), resetRequested, banned).when(command).refuses("link.invalid");
  });
});
