import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { networkOf } from "../../src/platform/network.ts";
import { type Answer, startTestApp, type TestUser } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { ratio, settled } from "../support/app/measure.ts";

/** Family 21: a caller without the password learns nothing about accounts, and locks nobody out for good. */

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
let anna: TestUser;
let count = 0;

const lockout = (maxAttempts: number, lockUser = true) =>
  app.post("/admin/settings/lock-account", {
    token: root.token,
    body: { lockUser, maxAttempts, timeToLockUser: 10, timeToCountFailUserLoginAttempts: 300 },
  });
beforeEach(async () => {
  count += 1;
  anna = await app.givenUser(`anna-${count}`);
  await lockout(3);
});

const logIn = (login: string, password: string): Promise<Answer> =>
  app.post("/user/settings/access-token/create", {
    headers: {
      authorization: basicAuth(login, password),
    },
    body: { name: randomUUID(), scopes: ["USER_READ"] },
  });
const codeOf = async (answer: Promise<Answer>) => (await answer).body["code"];

describe("an unknown user", () => {
  it("is answered as a known one with a wrong password is, word for word", async () => {
    const visible = ({ status, body, headers }: Answer) => {
      const { requestId: _, ...rest } = body;
      const kept = [...headers].filter(([name]) => !/^(date|x-request-id)$/.test(name));
      return { status, rest, kept };
    };
    const known = visible(await logIn(anna.alias, "wrong password"));
    expect(visible(await logIn(`nobody-${count}`, "wrong password"))).to.deep.equal(known);
    expect(visible(await logIn(`nobody-${count}@example.org`, "wrong password"))).to.deep.equal(
      known,
    );
    expect(visible(await logIn(`${anna.alias}@example.org`, "wrong password"))).to.deep.equal(
      known,
    );
  });

  it("takes as long, as far as can be measured", async () => {
    await lockout(1_000);
    const known = await app.givenUser(`known-${count}`, { dearHash: true });
    let n = 0;
    const bounds = [0.4, 2.5] as const;
    const measure = () =>
      ratio(
        () => logIn(known.alias, "wrong password"),
        () => logIn(`nobody-${count}-${n++}`, "wrong password"),
        // A hash that is left out is a factor of fifty.
        3,
      );
    expect(await settled(measure, bounds)).to.be.within(...bounds);
  });

  it("is locked like a known one", async () => {
    const codes = async (login: string) => {
      const seen = [];
      for (let n = 0; n < 5; n += 1) seen.push(await codeOf(logIn(login, "wrong password")));
      return seen;
    };
    expect(await codes(`nobody-${count}`)).to.deep.equal(await codes(anna.alias));
  });
});

describe("the lockout of an account", () => {
  it("counts every spelling of its name as one", async () => {
    const spellings = [anna.alias.toUpperCase(), `${anna.alias}@EXAMPLE.org`, anna.alias];
    for (const login of spellings) {
      expect(await codeOf(logIn(login, "wrong"))).to.equal("auth.credentials_invalid");
    }
    for (const login of [...spellings, anna.alias.replace("a", "A")]) {
      expect(await codeOf(logIn(login, anna.password)), login).to.equal("auth.locked");
    }
    for (const login of [` ${anna.alias}`, `${anna.alias} `, `${anna.alias}\t`]) {
      const { status } = await logIn(login, anna.password);
      expect(status, JSON.stringify(login)).to.equal(403);
    }
  });

  it("counts guesses that come all at once", async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => logIn(anna.alias, `guess number ${n}`)),
    );
    const codes = answers.map(({ body }) => body["code"]);
    const checked = codes.filter((code) => code === "auth.credentials_invalid");
    expect(checked, codes.join()).to.have.length.of.at.most(3);
    expect(await codeOf(logIn(anna.alias, anna.password))).to.equal("auth.locked");
  });

  it("counts every spelling of an IPv6 address, and its neighbours, as one", () => {
    const spellings = [
      "2001:db8::1",
      "2001:0DB8:0:0::1",
      "2001:db8:0:0:ffff::2",
      "2001:db8::9%eth0",
    ];
    expect(new Set(spellings.slice(0, 3).map(networkOf)).size).to.equal(1);
    expect(networkOf("::ffff:203.0.113.7")).to.equal(networkOf("203.0.113.7"));
    expect(networkOf("::ffff:cb00:7107")).to.equal(networkOf("203.0.113.7"));
    expect(networkOf("2001:db8:1::1")).not.to.equal(networkOf("2001:db8::1"));
  });

  it("keeps no administrator out: tokens, and addresses known from before, go on", async () => {
    expect((await logIn("root", root.password)).status).to.equal(200);
    // An attacker guesses from another address.
    const { lockout: guard } = app.deps;
    const guess = () => guard.guard({ account: root.id, ip: "198.51.100.9" }, async () => null);
    for (let n = 0; n < 3; n += 1) await guess();
    await expect(guess()).to.be.rejectedWith("locked");
    expect((await logIn("root", root.password)).status).to.equal(200);
    expect((await app.get("/admin/settings", { token: root.token })).status).to.equal(200);
    const lifted = await lockout(3, false);
    expect(lifted.status).to.equal(200);
  });

  it("says how long, the same to who knows the password", async () => {
    for (let n = 0; n < 4; n += 1) await logIn(anna.alias, "wrong password");
    const right = await logIn(anna.alias, anna.password);
    const wrong = await logIn(anna.alias, "wrong password");
    expect([right.body["code"], right.body["detail"]]).to.deep.equal([
      wrong.body["code"],
      wrong.body["detail"],
    ]);
    expect(Number(right.headers.get("retry-after"))).to.be.within(1, 600);
  });
});
