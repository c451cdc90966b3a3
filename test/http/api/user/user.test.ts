import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";

const app = await startTestApp();
const admin = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");

describe("POST /user", () => {
  const post = (body: unknown, token = admin.token) => app.post("/user", { token, body });
  const valid = { alias: "Boris", email: "boris@example.org", password: "a long password" };

  it("makes a user, whom the next read shows", async () => {
    const created = await post(valid);
    expect(created).to.deep.include({ status: 200 });
    expect(created.body).to.include({ username: "Boris", fullName: "Boris", name: "" });
    expect(created.body).not.to.have.any.keys("email", "password");
    const read = await app.get("/user/boris", { token: anna.token });
    expect(read.body).to.deep.equal(created.body);
  });

  it("is for administrators only", async () => {
    const head = await app.head();
    const body = { ...valid, alias: "clara", email: "clara@example.org" };
    expect(await post(body, anna.token)).to.deep.include({ status: 403 });
    expect(await app.head()).to.equal(head);
  });

  it("does not let the body make an administrator, or choose an id", async () => {
    const id = "0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d";
    const body = { alias: "dora", email: "dora@example.org", password: valid.password };
    const created = await post({ ...body, admin: true, isAdmin: true, id, userId: id });
    expect(created.status).to.equal(200);
    expect(created.body["id"]).not.to.equal(id);
    const row = await app.deps.db("app_user").where({ alias: "dora" }).first();
    expect(row.is_admin).to.equal(false);
  });

  for (const [what, over, field] of [
    ["two dots", { alias: "a..b" }, "alias"],
    ["a slash", { alias: "a/b" }, "alias"],
    ["the ending .git", { alias: "anna.git" }, "alias"],
    ["a trailing dot", { alias: "anna." }, "alias"],
    ["a leading dash", { alias: "-rf" }, "alias"],
    ["300 characters", { alias: "a".repeat(300) }, "alias"],
    ["a look-alike in another script", { alias: "аnna" }, "alias"],
    ["one character", { alias: "a" }, "alias"],
    ["nothing", { alias: "" }, "alias"],
    ["a list", { alias: ["anna"] }, "alias"],
    ["an object", { alias: { toString: "anna" } }, "alias"],
    ["a short password", { password: "1234567" }, "password"],
    ["a password of 129 characters", { password: "x".repeat(129) }, "password"],
    ["an e-mail without an at sign", { email: "nobody" }, "email"],
    ["an e-mail of 81 characters", { email: `${"a".repeat(69)}@example.org` }, "email"],
    ["two e-mails", { email: ["a@example.org", "b@example.org"] }, "email"],
  ] as const) {
    it(`refuses ${what} (${field}) and names the field`, async () => {
      const head = await app.head();
      const body = { alias: "fresh", email: "fresh@example.org", password: valid.password };
      const refused = await post({ ...body, ...over });
      expect(refused.status).to.equal(422);
      const errors = refused.body["errors"] as { field: string }[];
      expect([...new Set(errors.map((error) => error.field))]).to.deep.equal([field]);
      expect(await app.head()).to.equal(head);
    });
  }

  it("refuses a NUL in any text", async () => {
    const refused = await post({ ...valid, alias: "an\0na" });
    expect(refused).to.deep.include({ status: 422 });
    expect(refused.body).to.include({ code: "body.nul" });
  });

  for (const alias of [
    "me",
    "My",
    "settings",
    "push-stats",
    "0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d",
  ]) {
    it(`refuses the reserved alias ${alias}`, async () => {
      const refused = await post({ ...valid, alias, email: "reserved@example.org" });
      expect(refused).to.deep.include({ status: 422 });
      expect(refused.body).to.include({ code: "alias.reserved" });
    });
  }

  it("refuses a taken alias and a taken e-mail, whatever their case", async () => {
    const alias = await post({ ...valid, alias: "ANNA", email: "free@example.org" });
    expect(alias).to.deep.include({ status: 422 });
    expect(alias.body).to.include({ code: "alias.taken" });
    const email = await post({ ...valid, alias: "free", email: "ANNA@Example.org" });
    expect(email).to.deep.include({ status: 422 });
    expect(email.body).to.include({ code: "email.taken" });
  });

  it("makes one user of two equal requests under one idempotency key", async () => {
    const body = { alias: "emma", email: "emma@example.org", password: valid.password };
    const headers = { "idempotency-key": "make-emma" };
    const send = () => app.post("/user", { token: admin.token, body, headers });
    const [first, second] = await Promise.all([send(), send()]);
    expect([first.status, second.status]).to.deep.equal([200, 200]);
    expect(first.body).to.deep.equal(second.body);
    const other = await app.post("/user", {
      token: admin.token,
      body: { ...body, alias: "emma-2" },
      headers,
    });
    expect(other.status).to.equal(422);
  });
});

describe("GET /user", () => {
  it("shows the caller with e-mail, and others without", async () => {
    const me = await app.get("/user/me", { token: anna.token });
    expect(me.body).to.include({ id: anna.id, username: "anna", email: "anna@example.org" });
    const other = await app.get("/user/anna", { token: admin.token });
    expect(other.body).to.include({ id: anna.id }).and.not.have.property("email");
  });

  it("pages, says how many there are, and serves a size over 200 as 200", async () => {
    const page = await app.get("/user?page=1&size=1", { token: anna.token });
    const embedded = page.body["_embedded"] as { userList: unknown[] };
    expect(embedded.userList).to.have.length(1);
    expect(page.body["page"]).to.include({ size: 1, number: 1 });
    const total = (page.body["page"] as { totalElements: number }).totalElements;
    expect(page.headers.get("x-total-count")).to.equal(String(total));
    const large = await app.get("/user?size=5000", { token: anna.token });
    expect(large.body["page"]).to.include({ size: 200, number: 0 });
    const beyond = await app.get("/user?page=999", { token: anna.token });
    expect((beyond.body["_embedded"] as { userList: unknown[] }).userList).to.deep.equal([]);
  });

  it("answers 404 for nobody and 403 without a token", async () => {
    expect((await app.get("/user/nobody", { token: anna.token })).status).to.equal(404);
    expect((await app.get("/user/me")).status).to.equal(403);
    expect((await app.get("/rest-api/user/anna", { token: anna.token })).status).to.equal(200);
  });
});

describe("GET /user/{userAlias}", () => {
  it("takes the id of a user as well, before an alias of that form", async () => {
    const options = { token: anna.token };
    const shown = (await app.get("/user/anna", options)).body;
    await app.givenUser(anna.id);
    expect((await app.get(`/user/${anna.id}`, options)).body).to.deep.equal(shown);
    expect((await app.get(`/user/${anna.id}/projects`, options)).status).to.equal(200);
    expect((await app.get(`/user/${crypto.randomUUID()}`, options)).status).to.equal(404);
  });
});
