import { expect } from "chai";

import { openFormers } from "../../../src/commands/user/former-email.ts";
import { user } from "../../../src/commands/user/user.ts";
import { Alias, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { UserEvent } from "../../../src/events/user/user.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(user);
const userId = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const admin = UserId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const takeBackId = "7f0c8a51-7f6e-4c0c-9d0a-0c7f6f1a2b3c";
const resetId = "5f0c8a51-7f6e-4c0c-9d0a-0c7f6f1a2b3c";
const end = "2026-01-09T00:00:00.000Z";
const soon = "2026-01-03T00:00:00.000Z";

const box = (name: string) => Sealed.parse(`sealed.user-${userId}.${name}AAA`);

const registered = (confirmed: boolean): UserEvent => ({
  type: "UserRegistered",
  data: {
    userId,
    alias: Alias.parse("anna"),
    email: box("a"),
    emailDigest: "a",
    passwordHash: box("p"),
    admin: false,
    confirmed,
    registeredAt: at,
  },
});
const linkOf = (digest: string) => ({ takeBackId, tokenHash: `link-${digest}`, expiresAt: end });
const changedBy = (changedById: UserId) => ({ changedById, changedAt: at });

/** Changed by the person; the former address gets a link unless `withLink` is false. */
const moved = (from: string, to: string, withLink = true): UserEvent => ({
  type: "UserEmailChanged",
  data: {
    email: box(to),
    emailDigest: to,
    previousEmailDigest: from,
    confirmed: true,
    ...(withLink ? { former: { email: box(from), ...linkOf(from) } } : {}),
    ...changedBy(userId),
  },
});
const change = (to: string, by = userId) =>
  ({
    type: "ChangeUserEmail",
    email: box(to),
    emailDigest: to,
    confirmed: true,
    takeBack: linkOf("x"),
    by,
    at,
  }) as const;
const takeBack = (from: string, time = at) =>
  ({ type: "TakeBackEmail", tokenHash: `link-${from}`, at: time }) as const;
const takenBack = (digest: string): UserEvent => ({
  type: "UserEmailTakenBack",
  data: { email: box(digest), emailDigest: digest, takenBackAt: at },
});

const open = (...events: readonly UserEvent[]) => {
  const state = events.reduce(user.evolve, user.initialState);
  return state.status === "absent" ? [] : openFormers(state, at).map((each) => each.emailDigest);
};

describe("changing an e-mail", () => {
  const recorded = (former: object, by = userId) => ({
    type: "UserEmailChanged" as const,
    data: {
      email: box("b"),
      emailDigest: "b",
      previousEmailDigest: "a",
      confirmed: true,
      ...former,
      ...changedBy(by),
    },
  });
  const former = { former: { email: box("a"), takeBackId, tokenHash: "link-x", expiresAt: end } };

  it("keeps the replaced address when the person changes it and it counted as confirmed", () => {
    given(registered(true)).when(change("b")).gives(recorded(former));
    given(registered(false)).when(change("b")).gives(recorded({}));
    given(registered(true)).when(change("b", admin)).gives(recorded({}, admin));
  });

  it("is refused while five former addresses are open, so the first one cannot be pushed out", () => {
    const five = ["ab", "bc", "cd", "de", "ef"].map(([from = "", to = ""]) => moved(from, to));
    const past = [registered(true), ...five];
    expect(open(...past)).to.deep.equal(["a", "b", "c", "d", "e"]);
    given(...past)
      .when(change("g"))
      .refuses("email.changed_too_often");
    expect(
      user.decide(past.reduce(user.evolve, { status: "absent" }), {
        ...change("g"),
        at: end,
      }),
    ).to.have.length(1);
  });

  it("drops the addresses since when it goes back to a former one", () => {
    expect(open(registered(true), moved("a", "b"), moved("b", "a", false))).to.deep.equal([]);
    given(registered(true), moved("a", "b"), moved("b", "a", false))
      .when(takeBack("b"))
      .refuses("link.invalid");
  });

  it("drops all former addresses when an administrator changes it", () => {
    const settled: UserEvent = { ...recorded({}, admin) };
    expect(open(registered(true), moved("a", "c"), settled)).to.deep.equal([]);
  });
});

describe("taking an e-mail back", () => {
  const past = [registered(true), moved("a", "b"), moved("b", "c")];

  it("works by the link of any former address until its window ends", () => {
    given(...past)
      .when(takeBack("a"))
      .gives(takenBack("a"));
    given(...past)
      .when(takeBack("b"))
      .gives(takenBack("b"));
    for (const wrong of [takeBack("c"), takeBack("a", end)]) {
      given(...past)
        .when(wrong)
        .refuses("link.invalid");
    }
    given().when(takeBack("a")).refuses("link.invalid");
  });

  it("drops the later former addresses and keeps the earlier ones", () => {
    expect(open(...past, takenBack("b"))).to.deep.equal(["a"]);
    expect(open(...past, takenBack("a"))).to.deep.equal([]);
    given(...past, takenBack("a"))
      .when(takeBack("b"))
      .refuses("link.invalid");
    given(...past, takenBack("a"))
      .when(takeBack("a"))
      .refuses("link.invalid");
  });
});

describe("a new password while former addresses are open", () => {
  const past = [registered(true), moved("a", "b"), moved("b", "c")];
  const part = (emailDigest: string) => ({
    emailDigest,
    resetId,
    tokenHash: `part-${emailDigest}`,
  });
  const send = (...parts: readonly ReturnType<typeof part>[]) =>
    ({
      type: "RequestPasswordReset",
      resetId,
      tokenHash: "main",
      parts,
      expiresAt: soon,
      at,
    }) as const;
  const requested: UserEvent = {
    type: "UserPasswordResetRequested",
    data: {
      resetId,
      tokenHash: "main",
      parts: ["a", "b"].map((name) => ({ resetId, email: box(name), tokenHash: `part-${name}` })),
      expiresAt: soon,
      requestedAt: at,
    },
  };
  const reset = (...tokenHashes: readonly string[]) =>
    ({ type: "ResetPassword", tokenHashes, passwordHash: box("q"), at }) as const;

  it("is requested with a link for each of them", () => {
    given(...past)
      .when(send(part("b"), part("a")))
      .gives(requested);
    given(...past)
      .when(send())
      .givesNothing();
    given(...past)
      .when(send(part("a")))
      .givesNothing();
    given(...past)
      .when(send(part("a"), part("x")))
      .givesNothing();
  });

  it("needs all the links, in any order", () => {
    const history = [...past, requested];
    const set: UserEvent = {
      type: "UserPasswordChanged",
      data: { passwordHash: box("q"), ...changedBy(userId) },
    };
    given(...history)
      .when(reset("part-b", "main", "part-a"))
      .gives(set);
    for (const some of [
      ["main"],
      ["main", "part-a"],
      ["part-a", "part-b"],
      ["main", "main", "x"],
    ]) {
      given(...history)
        .when(reset(...some))
        .refuses("link.more_needed");
    }
    given(...history)
      .when(reset("x"))
      .refuses("link.invalid");
    given(...history, takenBack("a"))
      .when(reset("main", "part-a", "part-b"))
      .refuses("link.invalid");
  });
});
