import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { startTestApp } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";

/** Fields that a body may hold and nobody may set (GO-2022-0818 and its kind). */

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");
const more = {
  admin: true,
  isAdmin: true,
  is_admin: true,
  confirmed: true,
  id: randomUUID(),
  userId: root.id,
  ownerId: root.id,
  bannedAt: null,
  scopeSet: ["PROJECT_WRITE", "USER_WRITE"],
  __proto__: { admin: true },
  constructor: { prototype: { admin: true } },
};
const isAdmin = async (token: string) =>
  (await app.get("/admin/settings", { token })).status === 200;
const basic = (login: string, password: string) => ({
  authorization: basicAuth(login, password),
});

describe("fields nobody may set", () => {
  it("make no administrator of a new user, nor choose an id", async () => {
    const body = { ...more, email: "bob@example.org", password: "correct horse", alias: "bob" };
    const made = await app.post("/user", { token: root.token, body });
    expect([made.status, made.body["username"]], made.text).to.deep.equal([200, "bob"]);
    expect(made.body["id"]).not.to.equal(more.id).and.not.to.equal(root.id);
    const token = await app.post("/user/settings/access-token/create", {
      headers: basic("bob", "correct horse"),
      body: { name: "t", scopes: ["USER_READ", "USER_WRITE"] },
    });
    expect(await isAdmin(String(token.body["token"]))).to.equal(false);
  });

  it("make no administrator of oneself by profile, alias, e-mail or password", async () => {
    const { token, password } = anna;
    const changes: readonly (readonly [string, object])[] = [
      ["/user/profile", { name: "Anna" }],
      ["/user/change-email", { email: "anna2@example.org" }],
      ["/user/change-username", { username: "anna" }],
      ["/user/change-password", { oldPassword: password, password, passwordConfirm: password }],
    ];
    for (const [at, body] of changes) {
      const { status, text } = await app.put(at, { token, body: { ...more, ...body } });
      expect(status, `${at}: ${text}`).to.equal(200);
    }
    expect(await isAdmin(token)).to.equal(false);
    expect((await app.get("/user/me", { token })).body["id"]).to.equal(anna.id);
  });

  it("give a token no other scopes than those requested by name, nor another user's", async () => {
    const made = await app.post("/user/settings/access-token/create", {
      headers: basic("anna", anna.password),
      body: { ...more, name: "narrow", scopes: ["USER_READ"], kind: "TRANSPORT", token: "lfat_x" },
    });
    expect(made.body["scopeSet"], made.text).to.deep.equal(["USER_READ"]);
    const token = String(made.body["token"]);
    expect(token).to.match(/^lfat_[0-9A-Za-z]{49}$/);
    expect((await app.get("/user/me", { token })).body["id"]).to.equal(anna.id);
    const refused = await app.put("/user/profile", { token, body: { name: "x" } });
    expect(refused.body["code"]).to.equal("auth.scope_missing");
    const without = await app.post("/user/settings/access-token/create", {
      headers: basic("anna", anna.password),
      body: { name: "none", scopeSet: ["USER_READ"] },
    });
    expect(without.status).to.equal(422);
  });

  it("give a project no other owner or id, and a change of details no other visibility", async () => {
    const body = { title: "Mine", alias: "mine", isPrivate: true, ownerAlias: "anna" };
    const owner = { ownerAliasType: "USER", language: "Go", description: "" };
    const made = await app.post("/project", {
      token: anna.token,
      body: { ...more, ...body, ...owner },
    });
    expect(made.status, made.text).to.equal(200);
    expect(made.body["id"]).not.to.equal(more.id);
    const changed = await app.put("/project/anna/mine/setting/change-setting", {
      token: anna.token,
      body: { title: "Still mine", isPrivate: false, private: false, ownerAlias: "root", ...more },
    });
    expect(changed.body, changed.text).to.deep.include({ private: true, title: "Still mine" });
    expect((changed.body["owner"] as { alias: string }).alias).to.equal("anna");
  });

  it("take a role from the list of roles alone", async () => {
    for (const role of ["OWNER", "admin", "SUPERADMIN", ["ADMIN"], { role: "ADMIN" }, 3, null]) {
      const { status } = await app.post("/project/anna/mine/member/invite", {
        token: anna.token,
        body: { userAlias: "root", role },
      });
      expect(status, JSON.stringify(role)).to.equal(422);
    }
  });
});
