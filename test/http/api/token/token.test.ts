import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { eventually } from "../../../support/app/eventually.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");

const basic = (login: string, password: string) => ({
  authorization: basicAuth(login, password),
});
const logIn = (login: string, password: string) =>
  app.post("/user/settings/access-token/create", {
    headers: basic(login, password),
    body: { name: randomUUID(), scopes: ["USER_READ"] },
  });

describe("tokens", () => {
  const names = async (kind: string, token = anna.token) => {
    const { body } = await app.get(`/user/settings/${kind}-token?size=200`, { token });
    const embedded = body["_embedded"] as Record<string, Record<string, unknown>[]>;
    return Object.values(embedded)[0] ?? [];
  };

  it("are listed without their text, with when they were last used", async () => {
    const { body } = await logIn("anna", anna.password);
    const token = String(body["token"]);
    const before = (await names("access")).find(({ name }) => name === body["name"]);
    expect(before).to.include({ expiresAt: null, lastUsedAt: null });
    expect(before?.["scopeSet"]).to.deep.equal(["USER_READ"]);
    await app.get("/user/me", { token });
    const used = await eventually(async () => {
      const entry = (await names("access")).find(({ name }) => name === body["name"]);
      return entry?.["lastUsedAt"];
    });
    expect(Date.now() - Date.parse(String(used))).to.be.below(60_000);
    const shown = JSON.stringify(await names("access"));
    expect(shown).not.to.contain(token).and.not.to.contain("hash");
  });

  it("stop at once when they are revoked, by their user alone", async () => {
    const { body } = await logIn("anna", anna.password);
    const token = String(body["token"]);
    expect((await app.get("/user/me", { token })).status).to.equal(200);
    const at = `/user/settings/access-token/${encodeURIComponent(String(body["name"]))}`;
    expect((await app.delete(at, { token: root.token })).status).to.equal(404);
    expect((await app.delete(at, { token: anna.token })).status).to.equal(200);
    expect(codeOf(await app.get("/user/me", { token }))).to.deep.equal([403, "auth.token_invalid"]);
    expect((await app.delete(at, { token: anna.token })).body).to.include({
      code: "token.not_found",
    });
  });

  it("of the transport kind open the registries alone", async () => {
    const create = (body: unknown) =>
      app.post("/user/settings/transport-token/create", { token: anna.token, body });
    const scopes = ["READ_REGISTRY", "WRITE_REGISTRY"];
    const { status, body } = await create({ name: "registry", scopes });
    expect(status).to.equal(200);
    expect(body).to.deep.equal({ token: body["token"], name: "registry", scopeSet: scopes });
    expect(body["token"]).to.match(/^lftt_/);
    const token = String(body["token"]);
    const answer = await app.get("/user/me", { token });
    expect(codeOf(answer)).to.deep.equal([403, "auth.scope_missing"]);
    expect((await names("transport")).map(({ name }) => name)).to.deep.equal(["registry"]);
    expect((await names("access")).map(({ name }) => name)).not.to.include("registry");

    for (const wrong of [
      { name: "w", scopes: ["USER_READ"] },
      { name: "w", scopes: [] },
      { name: "registry", scopes },
      { name: ["w"], scopes },
    ]) {
      expect((await create(wrong)).status, JSON.stringify(wrong)).to.equal(422);
    }
    const at = "/user/settings/transport-token/registry";
    expect((await app.delete(at, { token: anna.token })).status).to.equal(200);
    const dead = await app.get("/user/me", { token });
    expect(codeOf(dead)).to.deep.equal([403, "auth.token_invalid"]);
  });
});
