import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { startTestApp } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";

const app = await startTestApp();
const admin = await app.givenUser("root", { admin: true });
describe("blocking a user", () => {
  const ban = (id: string, body?: unknown, token = admin.token) =>
    app.post(`/admin/user/${id}/account/ban`, { token, ...(body === undefined ? {} : { body }) });
  const unban = (id: string, token = admin.token) =>
    app.post(`/admin/user/${id}/account/unban`, { token });

  it("shuts token and password at once, and opens them again", async () => {
    const anna = await app.givenUser("anna");
    const login = { authorization: basicAuth("anna", anna.password) };
    const create = (name: string) =>
      app.post("/user/settings/access-token/create", {
        headers: login,
        body: { name, scopes: ["USER_READ"] },
      });
    expect((await create("before")).status).to.equal(200);

    expect((await ban(anna.id, { reason: "spam" })).status).to.equal(200);
    const refused = await app.get("/user/me", { token: anna.token });
    expect(refused.status).to.equal(403);
    expect(refused.body).to.include({ code: "auth.token_invalid" });
    expect((await create("meanwhile")).status).to.equal(403);

    expect((await unban(anna.id)).status).to.equal(200);
    expect((await app.get("/user/me", { token: anna.token })).status).to.equal(200);
    expect((await create("after")).status).to.equal(200);
  });

  it("answers 400 for a user who is blocked already, and 200 for an unban without a ban", async () => {
    const boris = await app.givenUser("boris");
    expect((await unban(boris.id)).status).to.equal(200);
    expect((await ban(boris.id)).status).to.equal(200);
    const again = await ban(boris.id);
    expect(again.status).to.equal(400);
    expect(again.body).to.include({ code: "user.already_blocked" });
  });

  it("takes a reason of 128 characters, and none longer", async () => {
    const clara = await app.givenUser("clara");
    expect((await ban(clara.id, { reason: "x".repeat(129) })).status).to.equal(422);
    expect((await ban(clara.id, { reason: "x".repeat(128) })).status).to.equal(200);
  });

  it("is refused for oneself, for nobody, and to those who are no administrators", async () => {
    const dora = await app.givenUser("dora");
    expect((await ban(admin.id)).status).to.equal(422);
    expect((await ban(randomUUID())).status).to.equal(404);
    expect((await ban("dora")).status).to.equal(404);
    expect((await ban(dora.id, undefined, dora.token)).status).to.equal(403);
    expect((await unban(dora.id, dora.token)).status).to.equal(403);
  });
});
