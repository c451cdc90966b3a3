import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type Answer, startTestApp } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";

/** Hashing is expensive on purpose: a client that causes it must not stop the others. */

const app = await startTestApp();
const anna = await app.givenUser("anna");
const flood = 200;

const logIn = (login: string, password: string): Promise<Answer> =>
  app.post("/user/settings/access-token/create", {
    headers: {
      authorization: basicAuth(login, password),
    },
    body: { name: randomUUID(), scopes: ["USER_READ"] },
  });

describe("a flood of wrong passwords", () => {
  it("is turned away before it is hashed, while others are answered", async () => {
    const start = performance.now();
    const attempts = Array.from({ length: flood }, (_, n) =>
      logIn(`nobody-${n}`, "wrong password"),
    );
    let answered = 0;
    const ended = Promise.all(attempts);
    let over = false;
    const noted = ended.then(() => {
      over = true;
    });
    const slowest: number[] = [];
    while (!over && answered < 500) {
      const sentAt = performance.now();
      const { status } = await app.get("/user/me", { token: anna.token });
      expect(status).to.equal(200);
      slowest.push(performance.now() - sentAt);
      answered += 1;
    }
    await noted;
    const codes = (await ended).map(({ body }) => body["code"]);
    const tookMs = performance.now() - start;

    const busy = codes.filter((code) => code === "auth.busy");
    expect(busy.length, codes.join()).to.be.greaterThan(flood / 2);
    expect(new Set(codes)).to.deep.equal(new Set(["auth.busy", "auth.credentials_invalid"]));
    // Were they hashed one after the other in front of everybody, one request would wait for all.
    expect(answered).to.be.greaterThan(3);
    slowest.sort((a, b) => a - b);
    const median = slowest[Math.floor(slowest.length / 2)] ?? 0;
    expect(median, `of ${answered}`).to.be.below(Math.max(500, tookMs / 3));
  });

  it("leaves the password of others right once it is over", async () => {
    expect((await logIn("anna", anna.password)).status).to.equal(200);
  });
});
