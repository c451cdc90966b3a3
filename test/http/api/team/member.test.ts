import { expect } from "chai";

import { type Send, startTestApp, type TestUser } from "../../../support/app/app.ts";

const app = await startTestApp();
const as = (user: { token: string }, body?: unknown): Send => ({ token: user.token, body });

let anna: TestUser;
let bob: TestUser;
let carol: TestUser;

before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
  carol = await app.givenUser("carol");
  const own = (alias: string) => as(anna, { title: alias, alias, isPrivate: true });
  await app.post("/company", own("acme"));
  await app.post("/team", own("tools"));
  await app.post("/project", own("search"));
});

for (const at of ["/company/acme", "/team/tools", "/project/anna/search"]) {
  describe(`members at ${at}`, () => {
    const invite = (userAlias: string, role: string, by = anna) =>
      app.post(`${at}/member/invite`, as(by, { userAlias, role }));
    const change = (userAlias: string, role: string, by = anna) =>
      app.put(`${at}/member/role`, as(by, { userAlias, role }));
    const remove = (userAlias: string, by = anna) =>
      app.delete(`${at}/member/${userAlias}`, as(by));
    const members = async (query = "", by = anna) => {
      const { body } = await app.get(`${at}/member${query}`, as(by));
      const { userList } = body["_embedded"] as { userList: { username: string; role: string }[] };
      return userList.map(({ username, role }) => `${username} ${role}`);
    };

    it("begin with the owner, as ADMIN", async () => {
      expect(await members()).to.deep.equal(["anna ADMIN"]);
    });

    it("are members at once when invited", async () => {
      expect((await app.get(at, as(bob))).status).to.equal(403);
      expect((await invite("bob", "GUEST")).status).to.equal(200);
      expect((await app.get(at, as(bob))).status).to.equal(200);
      expect(await members("", bob)).to.deep.equal(["anna ADMIN", "bob GUEST"]);
    });

    it("are found by a part of the alias, whose special characters are literal", async () => {
      expect(await members("?q=OB")).to.deep.equal(["bob GUEST"]);
      expect(await members("?q=%25")).to.deep.equal([]);
    });

    it("are administered by ADMINs alone", async () => {
      const head = await app.head();
      for (const role of ["GUEST", "REPORTER", "DEVELOPER"]) {
        await change("bob", role);
        const before = await app.head();
        expect((await invite("carol", "GUEST", bob)).status).to.equal(403);
        expect((await change("bob", "ADMIN", bob)).status).to.equal(403);
        expect((await remove("anna", bob)).status).to.equal(403);
        expect((await invite("carol", "ADMIN", carol)).status).to.equal(403);
        expect(await app.head()).to.equal(before);
      }
      expect(await app.head()).not.to.equal(head);
      await change("bob", "ADMIN");
      expect((await invite("carol", "REPORTER", bob)).status).to.equal(200);
      expect((await remove("carol", bob)).status).to.equal(200);
    });

    it("always keep the owner as ADMIN", async () => {
      for (const by of [anna, bob]) {
        expect((await change("anna", "GUEST", by)).status).to.equal(422);
        const refused = await remove("anna", by);
        expect(refused.status).to.equal(422);
        expect(refused.body["code"]).to.equal("member.owner");
      }
      expect((await invite("anna", "GUEST", bob)).status).to.equal(422);
    });

    it("have one of the four roles, and accounts", async () => {
      for (const role of ["OWNER", "admin", "", "ADMIN "]) {
        expect((await invite("carol", role)).status, role).to.equal(422);
      }
      const array = { userAlias: ["carol"], role: "GUEST" };
      expect((await app.post(`${at}/member/invite`, as(anna, array))).status).to.equal(422);
      expect((await invite("nobody", "GUEST")).status).to.equal(404);
      expect((await change("carol", "GUEST")).status).to.equal(404);
      expect((await remove("carol")).status).to.equal(404);
      expect((await invite("bob", "GUEST")).body["code"]).to.equal("member.exists");
    });

    it("are not invited again, with whatever role", async () => {
      for (const role of ["ADMIN", "GUEST"]) {
        const again = await invite("bob", role);
        expect([again.status, again.body["code"]]).to.deep.equal([422, "member.exists"]);
      }
    });

    it("may leave, in whatever role, and remove nobody else", async () => {
      await invite("carol", "DEVELOPER");
      for (const role of ["GUEST", "REPORTER", "DEVELOPER", "ADMIN"]) {
        await change("bob", role);
        if (role !== "ADMIN") expect((await remove("carol", bob)).status).to.equal(403);
        expect((await remove("BOB", bob)).status, role).to.equal(200);
        expect((await app.get(at, as(bob))).status).to.equal(403);
        await invite("bob", "GUEST");
      }
      expect((await remove("carol")).status).to.equal(200);
      expect((await remove("carol", carol)).status, "no member any more").to.equal(403);
    });

    it("lose their rights with their membership", async () => {
      expect((await remove("bob")).status).to.equal(200);
      expect((await app.get(at, as(bob))).status).to.equal(403);
      expect(await members()).to.deep.equal(["anna ADMIN"]);
    });
  });
}

describe("roles that come from above", () => {
  const project = "/project/built/engine";
  const invite = (at: string, role: string) =>
    app.post(`${at}/member/invite`, as(anna, { userAlias: "carol", role }));
  const fire = (at: string) => app.delete(`${at}/member/carol`, as(anna));
  const mayRead = async () => (await app.get(project, as(carol))).status === 200;
  const mayAdminister = async () => {
    const body = { userAlias: "bob", role: "GUEST" };
    const { status } = await app.post(`${project}/member/invite`, as(carol, body));
    // Bob may be a member already.
    return status !== 403;
  };

  before(async () => {
    const owned = (alias: string, ownerAlias: string, ownerAliasType: string) =>
      as(anna, { title: alias, alias, isPrivate: true, ownerAlias, ownerAliasType });
    expect((await app.post("/team", owned("built", "acme", "COMPANY"))).status).to.equal(200);
    expect((await app.post("/project", owned("engine", "built", "TEAM"))).status).to.equal(200);
  });

  it("hold in a team's projects", async () => {
    expect(await mayRead()).to.equal(false);
    await invite("/team/built", "REPORTER");
    expect([await mayRead(), await mayAdminister()]).to.deep.equal([true, false]);
    await fire("/team/built");
    expect(await mayRead()).to.equal(false);
  });

  it("hold in the projects of a company's teams", async () => {
    await invite("/company/acme", "ADMIN");
    expect([await mayRead(), await mayAdminister()]).to.deep.equal([true, true]);
    await fire("/company/acme");
    expect(await mayRead()).to.equal(false);
  });

  it("are the highest of all", async () => {
    await invite(project, "GUEST");
    await invite("/company/acme", "REPORTER");
    await invite("/team/built", "ADMIN");
    expect(await mayAdminister()).to.equal(true);
    await fire("/team/built");
    expect([await mayRead(), await mayAdminister()]).to.deep.equal([true, false]);
    await fire("/company/acme");
    await fire(project);
    expect(await mayRead()).to.equal(false);
  });
});
