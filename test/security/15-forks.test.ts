import { expect } from "chai";

import { type Send, startTestApp, type TestUser } from "../support/app/app.ts";

/**
 * Family 15, leaks after a change of visibility: what was forked from a private project stays private
 * while that project is, over any number of forks.
 */
const app = await startTestApp();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const as = (user: TestUser, body?: unknown): Send => ({ token: user.token, body });

const visibility = async (user: TestUser, alias: string, isPrivate: boolean) => {
  const at = `/project/${user.alias}/${alias}/setting/visibility`;
  const { status, body } = await app.put(at, as(user, { isPrivate }));
  return body["code"] ?? status;
};
const fork = async (from: string, alias: string) => {
  const forked = await app.post(`${from}/fork`, as(bob, { alias }));
  expect(forked.status, forked.text).to.equal(200);
  return String(forked.body["id"]);
};

describe("a fork of a private project", () => {
  before(async () => {
    await app.givenProject(anna, "hidden");
    const member = { userAlias: "bob", role: "GUEST" };
    await app.post("/project/anna/hidden/member/invite", as(anna, member));
    await fork("/project/anna/hidden", "copy");
    await fork("/project/bob/copy", "copy-of-copy");
  });

  it("is not made public, and neither is a fork of it", async () => {
    for (const alias of ["copy", "copy-of-copy"]) {
      expect(await visibility(bob, alias, false)).to.equal("fork.public_of_private");
      expect((await app.get(`/project/bob/${alias}`, as(anna))).status).to.equal(403);
    }
  });

  it("stays private when the one between them is deleted", async () => {
    const { body } = await app.get("/project/bob/copy", as(bob));
    expect((await app.delete(`/project/${body["id"]}/delete`, as(bob))).status).to.equal(200);
    expect(await visibility(bob, "copy-of-copy", false)).to.equal("fork.public_of_private");
    expect((await app.post(`/project/${body["id"]}/restore`, as(bob))).status).to.equal(200);
  });

  it("may be public once that project is", async () => {
    expect(await visibility(anna, "hidden", false)).to.equal(200);
    expect(await visibility(bob, "copy", false)).to.equal(200);
    expect(await visibility(bob, "copy-of-copy", false), "its own origin is public").to.equal(200);
  });

  it("does not lock what was never forked", async () => {
    await app.givenProject(bob, "own");
    expect(await visibility(bob, "own", false)).to.equal(200);
  });
});
