import { expect } from "chai";

import { type Send, startTestApp } from "../../../support/app/app.ts";

const app = await startTestApp();

describe("teams", () => {
  let anna: { alias: string; token: string };
  let bob: { alias: string; token: string };

  before(async () => {
    anna = await app.givenUser("anna");
    bob = await app.givenUser("bob");
  });

  const as = (user: { token: string }, body?: unknown): Send => ({ token: user.token, body });
  const create = (body: object, user = anna) =>
    app.post("/team", as(user, { title: "Tools", isPrivate: false, ...body }));
  const aliases = async (path: string, user: { token: string }) => {
    const { body } = await app.get(path, as(user));
    return (body["_embedded"] as { teamList: { alias: string }[] }).teamList.map((t) => t.alias);
  };

  it("are created for the caller and answered with every field", async () => {
    const { status, body } = await create({ alias: "Tools", description: "Builds things." });
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body).to.deep.include({
      alias: "Tools",
      title: "Tools",
      description: "Builds things.",
      ownerAlias: "anna",
      avatar: "",
      selectorTitle: "Tools",
      selectorId: body["id"],
      selectorOwnerAlias: "anna",
      selectorAlias: "Tools",
      selectorHash: body["id"],
      private: false,
      isDeleted: false,
    });
    expect(body["hexColor"]).to.match(/^#[0-9a-f]{6}$/);
    expect((await app.get("/team/tools", as(bob))).body).to.deep.equal(body);
  });

  it("share one name space with users and companies, without regard to case", async () => {
    await app.post("/company", as(anna, { title: "Acme", alias: "acme", isPrivate: false }));
    for (const alias of ["BOB", "tools", "Acme"]) {
      const { status, body } = await create({ alias });
      expect(status, alias).to.equal(422);
      expect(body["code"]).to.equal("alias.taken");
    }
    const user = { alias: "tools", email: "t@example.org", password: "long enough" };
    const admin = await app.givenUser("root", { admin: true });
    expect((await app.post("/user", as(admin, user))).body["code"]).to.equal("alias.taken");
    const company = { title: "T", alias: "TOOLS" };
    expect((await app.post("/company", as(bob, company))).body["code"]).to.equal("alias.taken");
  });

  for (const alias of ["my", "shared", "transfer", "..", "a/b", ".git", "x.git", "-x", "a"]) {
    it(`are refused the alias ${alias}`, async () => {
      expect((await create({ alias })).status).to.equal(422);
    });
  }

  it("are not created for others, nor for owners of another kind", async () => {
    const head = await app.head();
    const forBob = await create({ alias: "t1", ownerAlias: "bob", ownerAliasType: "USER" });
    expect(forBob).to.deep.include({ status: 403 });
    const forAcme = { alias: "t1", ownerAlias: "acme", ownerAliasType: "COMPANY" };
    expect(await create(forAcme, bob)).to.deep.include({ status: 403 });
    const wrongKind = { alias: "t1", ownerAlias: "acme", ownerAliasType: "USER" };
    expect(await create(wrongKind)).to.deep.include({ status: 404 });
    const teams = { alias: "t1", ownerAlias: "tools", ownerAliasType: "TEAM" };
    expect(await create(teams)).to.deep.include({ status: 422 });
    expect(await app.head()).to.equal(head);
  });

  it("are shown in lists to whom they may be shown, and counted so", async () => {
    await create({ alias: "hidden", isPrivate: true });
    await create({ alias: "acme-team", ownerAlias: "acme", ownerAliasType: "COMPANY" });
    expect(await aliases("/team", bob)).to.deep.equal(["Tools", "acme-team"]);
    expect(await aliases("/team/my", anna)).to.deep.equal(["Tools", "hidden", "acme-team"]);
    expect(await aliases("/team/my", bob)).to.deep.equal([]);
    expect(await aliases("/team/shared", bob)).to.deep.equal([]);
    const page = async (path: string) => (await app.get(path, as(bob))).body["page"];
    const one = { size: 1, number: 0 };
    expect(await page("/team?size=1")).to.deep.equal({ ...one, totalElements: 2, totalPages: 2 });
    const none = { ...one, totalElements: 0, totalPages: 0 };
    expect(await page("/team/my?size=1")).to.deep.equal(none);
    expect(await page("/team/shared?size=1")).to.deep.equal(none);
  });

  it("are closed to strangers when private, and open to members", async () => {
    expect((await app.get("/team/hidden", as(bob))).status).to.equal(403);
    expect((await app.get("/team/nothing", as(bob))).status).to.equal(404);
    const invitation = { userAlias: "bob", role: "GUEST" };
    await app.post("/team/hidden/member/invite", as(anna, invitation));
    expect((await app.get("/team/hidden", as(bob))).status).to.equal(200);
    expect(await aliases("/team/shared", bob)).to.deep.equal(["hidden"]);
    expect((await app.put("/team/hidden", as(bob, { title: "Mine" }))).status).to.equal(403);
    await app.delete("/team/hidden/member/bob", as(anna));
    expect((await app.get("/team/hidden", as(bob))).status).to.equal(403);
    expect(await aliases("/team/shared", bob)).to.deep.equal([]);
  });

  it("change what is given and keep the rest; an old alias is free again", async () => {
    await create({ alias: "old", description: "Stays." });
    const change = { title: "New", alias: "new", avatar: "https://example.org/a.png" };
    const { status, body } = await app.put("/team/old", as(anna, change));
    expect(status).to.equal(200);
    expect(body).to.include({ ...change, description: "Stays.", private: false });
    expect((await app.get("/team/old", as(anna))).status).to.equal(404);
    expect((await create({ alias: "old" })).status).to.equal(200);
    expect((await app.put("/team/old", as(anna, { alias: "new" }))).status).to.equal(422);
    const reserved = await app.put("/team/old", as(anna, { alias: "shared" }));
    expect(reserved.body["code"]).to.equal("alias.reserved");
  });

  it("are deleted when nothing belongs to them any more", async () => {
    await create({ alias: "gone" });
    const project = {
      title: "P",
      alias: "pp",
      ownerAlias: "gone",
      ownerAliasType: "TEAM",
      isPrivate: false,
    };
    expect((await app.post("/project", as(anna, project))).status).to.equal(200);
    const refused = await app.delete("/team/gone", as(anna));
    expect(refused).to.deep.include({ status: 422 });
    expect(refused.body["code"]).to.equal("team.not_empty");
    await create({ alias: "empty" });
    expect((await app.delete("/team/empty", as(bob))).status).to.equal(403);
    expect((await app.delete("/team/empty", as(anna))).status).to.equal(200);
    expect((await app.get("/team/empty", as(anna))).status).to.equal(404);
    expect((await create({ alias: "empty" })).status).to.equal(200);
  });

  describe("that are transferred", () => {
    const transfer = (teamAlias: string, ownerAlias: string, user = anna) =>
      app.post("/team/transfer", as(user, { teamAlias, ownerAlias }));

    before(async () => {
      await create({ alias: "moving" });
      await app.post("/company", as(bob, { title: "B", alias: "bobs", isPrivate: false }));
    });

    it("need an ADMIN of the team", async () => {
      expect((await transfer("moving", "bob", bob)).status).to.equal(403);
    });

    it("go to a company only of the team's own owner", async () => {
      const refused = await transfer("moving", "bobs");
      expect(refused.status).to.equal(403);
      expect(refused.body["code"]).to.equal("owner.forbidden");
      const { status, body } = await transfer("moving", "acme");
      expect(status).to.equal(200);
      expect(body["ownerAlias"]).to.equal("acme");
    });

    it("need a team and an owner that exist", async () => {
      expect((await transfer("nothing", "acme")).status).to.equal(404);
      expect((await transfer("moving", "nothing")).status).to.equal(404);
      expect((await transfer("moving", "tools")).status).to.equal(404);
    });

    it("belong to the new owner from then on", async () => {
      const offered = await transfer("moving", "bob");
      expect(offered.body).to.deep.include({ ownerAlias: "acme" });
      const { id } = offered.body["pendingTransfer"] as { id: string };
      expect((await app.post(`/user/transfer/${id}/accept`, as(bob))).status).to.equal(200);
      expect((await app.get("/team/moving", as(bob))).body["ownerAlias"]).to.equal("bob");
      expect((await app.put("/team/moving", as(anna, { title: "x" }))).status).to.equal(403);
      expect((await app.put("/team/moving", as(bob, { title: "x" }))).status).to.equal(200);
    });
  });
});
