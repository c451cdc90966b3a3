import { expect } from "chai";
import { isToken } from "../../../../src/platform/key/token.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { eventually } from "../../../support/app/eventually.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
describe("POST /user/settings/access-token/create", () => {
  let count = 0;
  const create = (over: object = {}, headers: Record<string, string> = {}) => {
    count += 1;
    return app.post("/user/settings/access-token/create", {
      headers: { authorization: basicAuth("anna", anna.password), ...headers },
      body: { name: `token ${count}`, scopes: ["USER_READ"], ...over },
    });
  };

  it("gives a token that works at once and carries the requested scopes", async () => {
    const created = await create({ scopes: ["USER_READ", "PROJECT_READ", "USER_READ"] });
    expect(created.status).to.equal(200);
    const token = String(created.body["token"]);
    expect(isToken(token)).to.equal(true);
    expect(created.body).to.deep.include({
      scopeSet: ["USER_READ", "PROJECT_READ"],
      expiresAt: null,
    });
    expect((await app.get("/user/me", { token })).status).to.equal(200);
    expect((await app.get("/project/my", { token })).status).to.equal(200);
  });

  it("keeps the token's text nowhere", async () => {
    const token = String((await create()).body["token"]);
    const rows = await app.deps.db("access_token").select("*");
    expect(JSON.stringify(rows)).not.to.include(token);
    for await (const event of app.deps.store.readAll()) {
      const text = JSON.stringify({ data: event.data, metadata: event.metadata });
      expect(text).not.to.include(token);
    }
  });

  it("takes e-mail as well as alias", async () => {
    const headers = { authorization: basicAuth("ANNA@example.org", anna.password) };
    expect((await create({}, headers)).status).to.equal(200);
  });

  it("lets the given day count, in UTC", async () => {
    const day = () => new Date().toISOString().slice(0, 10);
    // Not in the last minute of a day, which may be over before the token is made.
    const soon = () => new Date(Date.now() + 60_000).toISOString().slice(0, 10);
    await eventually(() => day() === soon(), 90_000);
    const today = day();
    const created = await create({ expiresAt: today });
    expect(created.body).to.include({ expiresAt: `${today}T23:59:59.999Z` });
    const token = String(created.body["token"]);
    expect((await app.get("/user/me", { token })).status).to.equal(200);
    expect((await create({ expiresAt: "2020-01-01" })).body).to.include({
      code: "token.expiry_past",
    });
    expect((await create({ expiresAt: "" })).body).to.include({ expiresAt: null });
  });

  it("gives the same token again for the same idempotency key", async () => {
    const headers = { "idempotency-key": "laptop" };
    const first = await create({ name: "laptop" }, headers);
    const second = await create({ name: "laptop" }, headers);
    expect(second.body).to.deep.equal(first.body);
    const rows = await app.deps.db("access_token").where({ name: "laptop" });
    expect(rows).to.have.length(1);
  });

  it("refuses a second token of the same name", async () => {
    expect((await create({ name: "same" })).status).to.equal(200);
    const again = await create({ name: "same" });
    expect(again.status).to.equal(422);
    expect(again.body).to.include({ code: "token.name_taken" });
  });

  for (const [what, over] of [
    ["no scope", { scopes: [] }],
    ["an unknown scope", { scopes: ["EVERYTHING"] }],
    ["scopes that are no list", { scopes: "USER_READ" }],
    ["no name", { name: " " }],
    ["a date that is none", { expiresAt: "31.12.2027" }],
    ["a day that does not exist", { expiresAt: "2027-02-31" }],
  ] as const) {
    it(`refuses ${what}`, async () => {
      expect((await create(over)).status).to.equal(422);
    });
  }

  it("answers alike for a wrong password and an unknown user", async () => {
    const answers = await Promise.all(
      ["anna", "nobody"].map((alias) => create({}, { authorization: basicAuth(alias, "wrong") })),
    );
    const [wrong, unknown] = answers.map(({ status, body }) => {
      return { status, ...body, requestId: "", instance: "" };
    });
    expect(wrong).to.deep.equal(unknown);
    expect(wrong).to.include({ status: 403 });
  });

  it("does not take a token in place of the password", async () => {
    const headers = { authorization: `token ${anna.token}` };
    expect((await create({}, headers)).status).to.equal(403);
    const inside = { authorization: basicAuth("anna", anna.token) };
    expect((await create({}, inside)).status).to.equal(403);
  });
});
