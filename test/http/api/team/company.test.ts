import { expect } from "chai";

import { type Send, startTestApp } from "../../../support/app/app.ts";

const app = await startTestApp();

describe("companies", () => {
  let anna: { token: string };
  let bob: { token: string };

  before(async () => {
    anna = await app.givenUser("anna");
    bob = await app.givenUser("bob");
  });

  const as = (user: { token: string }, body?: unknown): Send => ({ token: user.token, body });
  const create = (body: object, user = anna) =>
    app.post("/company", as(user, { title: "Acme", isPrivate: false, ...body }));
  const aliases = async (path: string, user: { token: string }) => {
    const { body } = await app.get(path, as(user));
    const { companyList } = body["_embedded"] as { companyList: { alias: string }[] };
    return companyList.map(({ alias }) => alias);
  };

  const contact = {
    url: "https://acme.example",
    contactPhone: "+1 555 0100",
    contactEmail: "office@acme.example",
  };

  it("have all fields of a team and how to reach them", async () => {
    const { status, body } = await create({ alias: "acme", description: "Anvils.", ...contact });
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body).to.include({ alias: "acme", ownerAlias: "anna", private: false, ...contact });
    expect((await app.get("/company/ACME", as(bob))).body).to.deep.equal(body);
  });

  it("keep their contacts sealed in the log", async () => {
    const stored: string[] = [];
    for await (const event of app.platform.store.readAll()) stored.push(JSON.stringify(event.data));
    expect(stored.join()).to.contain("CompanyCreated".slice(0, 7).toLowerCase());
    expect(stored.join()).not.to.contain("555 0100").and.not.to.contain("office@acme");
  });

  it("are shown in lists to whom they may be shown", async () => {
    await create({ alias: "hidden", isPrivate: true });
    expect(await aliases("/company", bob)).to.deep.equal(["acme"]);
    expect(await aliases("/company/my", anna)).to.deep.equal(["acme", "hidden"]);
    expect(await aliases("/company/shared", bob)).to.deep.equal([]);
    expect((await app.get("/company/hidden", as(bob))).status).to.equal(403);
    const invitation = { userAlias: "bob", role: "REPORTER" };
    await app.post("/company/hidden/member/invite", as(anna, invitation));
    expect(await aliases("/company/shared", bob)).to.deep.equal(["hidden"]);
    expect((await app.get("/company/hidden", as(bob))).status).to.equal(200);
  });

  it("change what is given and keep the rest", async () => {
    const change = { title: "Acme & Co", contactPhone: "", isPrivate: "true" };
    const { status, body } = await app.put("/company/acme", as(anna, change));
    expect(status).to.equal(200);
    expect(body).to.include({
      title: "Acme & Co",
      contactPhone: "",
      contactEmail: contact.contactEmail,
      private: true,
    });
    expect((await app.put("/company/acme", as(bob, change))).status).to.equal(403);
    await app.put("/company/acme", as(anna, { isPrivate: false }));
  });

  for (const [field, value] of [
    ["url", "javascript:alert(1)"],
    ["contactEmail", "no address"],
    ["isPrivate", "maybe"],
    ["title", " "],
  ] as const) {
    it(`are refused ${field} ${value}`, async () => {
      const { status, body } = await app.put("/company/acme", as(anna, { [field]: value }));
      expect(status).to.equal(422);
      expect((body["errors"] as { field: string }[])[0]).to.include({ field });
    });
  }

  it("let their administrators make teams and projects for them", async () => {
    const project = (alias: string) => ({
      title: alias,
      alias,
      ownerAlias: "acme",
      ownerAliasType: "COMPANY",
      isPrivate: true,
    });
    expect((await app.post("/project", as(bob, project("one")))).status).to.equal(403);
    const invitation = { userAlias: "bob", role: "DEVELOPER" };
    await app.post("/company/acme/member/invite", as(anna, invitation));
    expect((await app.post("/project", as(bob, project("one")))).status).to.equal(403);
    await app.put("/company/acme/member/role", as(anna, { ...invitation, role: "ADMIN" }));
    const made = await app.post("/project", as(bob, project("one")));
    expect(made.status).to.equal(200);
    expect(made.body["owner"]).to.deep.equal({ alias: "acme", type: "COMPANY" });
    const team = {
      title: "T",
      alias: "acme-t",
      ownerAlias: "acme",
      ownerAliasType: "COMPANY",
    };
    expect((await app.post("/team", as(bob, team))).body["ownerAlias"]).to.equal("acme");
  });

  it("are deleted when nothing belongs to them any more", async () => {
    expect((await app.delete("/company/acme", as(anna))).body["code"]).to.equal(
      "company.not_empty",
    );
    expect((await app.delete("/company/hidden", as(bob))).status).to.equal(403);
    expect((await app.delete("/company/hidden", as(anna))).status).to.equal(200);
    expect((await app.get("/company/hidden", as(anna))).status).to.equal(404);
    expect((await create({ alias: "hidden" }, bob)).status).to.equal(200);
  });
});
