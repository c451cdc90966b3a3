import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { settingsDefaults } from "../../../src/events/instance/settings.ts";
import { loginLockout } from "../../../src/http/access/login-lockout.ts";
import { openCounters } from "../../../src/platform/counter.ts";
import { networkOf } from "../../../src/platform/network.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testDatabase } from "../../support/store/database.ts";

const closing: (() => Promise<void>)[] = [];
// Registered before the database's own hook, which drops it and needs it to be left alone.
after(() => Promise.all(closing.map((close) => close())));
const { url: databaseUrl, db } = await testDatabase();
const counters = await openCounters({ databaseUrl });
closing.push(counters.close);

const rules = { ...settingsDefaults, maxAttemptsToLoginIntoAccount: 2, timeToLockUser: 1 };
const { guard } = loginLockout(counters, async () => rules);

const home = "203.0.113.7";
const elsewhere = "198.51.100.9";

describe("the lockout", () => {
  let account: string;
  beforeEach(() => {
    account = randomUUID();
  });
  const attempt = async (ip: string, right: boolean) => {
    try {
      return (await guard({ account, ip }, async () => (right ? "in" : null))) ?? "wrong";
    } catch (error) {
      if (error instanceof Refusal) return error.code;
      throw error;
    }
  };

  it("is the account's, from whatever address", async () => {
    expect(await attempt(elsewhere, false)).to.equal("wrong");
    expect(await attempt("192.0.2.1", false)).to.equal("wrong");
    expect(await attempt("192.0.2.2", true)).to.equal("auth.locked");
  });

  it("does not keep the owner out of an address that logged in before", async () => {
    expect(await attempt(home, true)).to.equal("in");
    for (let n = 0; n < 5; n += 1) await attempt(elsewhere, false);
    expect(await attempt(elsewhere, true)).to.equal("auth.locked");
    expect(await attempt(home, true)).to.equal("in");
  });

  it("counts at such an address too", async () => {
    expect(await attempt(home, true)).to.equal("in");
    for (let n = 0; n < 2; n += 1) expect(await attempt(home, false)).to.equal("wrong");
    expect(await attempt(home, true)).to.equal("auth.locked");
  });

  it("begins to count anew after a right password", async () => {
    for (let n = 0; n < 4; n += 1) {
      expect(await attempt(home, false)).to.equal("wrong");
      expect(await attempt(home, true)).to.equal("in");
    }
  });

  it("takes right passwords that come at once for no guesses", async () => {
    const together = Array.from({ length: 6 }, () => attempt(home, true));
    expect(new Set(await Promise.all(together))).to.deep.equal(new Set(["in"]));
  });

  it("ends when it said, however many try meanwhile", async () => {
    for (let n = 0; n < 3; n += 1) await attempt(elsewhere, false);
    const key = `login-locked:${account}`;
    const expiry = () => db("public.counter").where({ key }).first("expire");
    const before = await expiry();
    for (let n = 0; n < 3; n += 1) expect(await attempt(elsewhere, false)).to.equal("auth.locked");
    expect(await expiry()).to.deep.equal(before);
    await db("public.counter")
      .where({ key })
      .update({ expire: Date.now() + 50 });
    expect(await eventually(async () => (await attempt(elsewhere, true)) === "in")).to.equal(true);
  });

  it("takes an IPv6 subscriber's addresses for one", () => {
    expect(networkOf("2001:db8:1:2::1")).to.equal(networkOf("2001:db8:1:2:ffff::9"));
    expect(networkOf("2001:db8:1:3::1")).not.to.equal(networkOf("2001:db8:1:2::1"));
    expect(networkOf("::ffff:192.0.2.1")).to.equal("192.0.2.1");
    expect(networkOf("nonsense")).to.equal("unknown");
  });
});
