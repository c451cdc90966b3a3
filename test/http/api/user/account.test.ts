import { expect } from "chai";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";

const app = await startTestApp({ cheapPasswords: true });

const basic = (login: string, password: string) => ({
  authorization: basicAuth(login, password),
});
let tokens = 0;
const logIn = (login: string, password: string) => {
  tokens += 1;
  const body = { name: `login ${tokens}`, scopes: ["USER_READ"] };
  const headers = basic(login, password);
  return app.post("/user/settings/access-token/create", { body, headers });
};

let counter = 0;
const someone = (options: { admin?: boolean } = {}) => {
  counter += 1;
  return app.givenUser(`person-${counter}`, options);
};

describe("one's own account", () => {
  let anna: TestUser;
  beforeEach(async () => {
    anna = await someone();
  });
  const put = (at: string, body: unknown) => app.put(at, { token: anna.token, body });

  it("changes its e-mail, and only the new one logs in", async () => {
    const email = `new.${anna.alias}@example.org`;
    const changed = await put("/user/change-email", { email });
    expect([changed.status, changed.text]).to.deep.equal([200, ""]);
    const me = await app.get("/user/me", { token: anna.token });
    expect(me.body).to.include({ email });
    expect((await logIn(email.toUpperCase(), anna.password)).status).to.equal(200);
    expect((await logIn(`${anna.alias}@example.org`, anna.password)).status).to.equal(403);
  });

  it("changes its alias: the old one answers 404, is free, and projects move along", async () => {
    await app.givenProject(anna, "search");
    const alias = `${anna.alias}-renamed`;
    expect((await put("/user/change-username", { username: alias })).status).to.equal(200);

    const { token } = anna;
    expect((await app.get(`/user/${anna.alias}`, { token })).status).to.equal(404);
    expect((await app.get(`/user/${alias}`, { token })).body).to.include({ username: alias });
    const moved = await app.get(`/project/${alias}/search`, { token });
    expect(moved.body["owner"]).to.deep.equal({ alias, type: "USER" });
    expect((await app.get(`/project/${anna.alias}/search`, { token })).status).to.equal(404);
    const next = await someone();
    const taken = await app.put("/user/change-username", {
      token: next.token,
      body: { username: anna.alias },
    });
    expect(taken.status).to.equal(200);
  });

  it("changes its password with the old one, and only the new one logs in", async () => {
    const password = "another long password";
    const body = { oldPassword: anna.password, password, passwordConfirm: password };
    expect((await put("/user/change-password", body)).status).to.equal(200);
    expect((await logIn(anna.alias, password)).status).to.equal(200);
    expect((await logIn(anna.alias, anna.password)).status).to.equal(403);
  });

  it("changes its profile, field by field", async () => {
    const avatar = "https://example.org/anna.png";
    const named = await put("/user/profile", { name: " Anna ", surname: "Berg", avatar });
    expect(named.body).to.include({ name: "Anna", fullName: "Anna Berg", avatar, cover: "" });
    const cleared = await put("/user/profile", { surname: "" });
    expect(cleared.body).to.include({ name: "Anna", surname: "", fullName: "Anna", avatar });
    const seen = await app.get(`/user/${anna.alias}`, { token: anna.token });
    expect(seen.body).to.include({ fullName: "Anna" }).and.not.to.have.property("email");
  });

  it("keeps parallel changes of different fields of the profile", async () => {
    for (const round of [1, 2, 3]) {
      const [name, surname] = [`Anna ${round}`, `Berg ${round}`];
      const answers = await Promise.all([
        put("/user/profile", { name }),
        put("/user/profile", { surname }),
      ]);
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
      const me = await app.get("/user/me", { token: anna.token });
      expect(me.body).to.include({ name, surname });
    }
  });

  const long = "x".repeat(129);
  const twice = (password: string) => ({ password, passwordConfirm: password });
  for (const [what, at, body, code] of [
    ["no e-mail", "email", { email: "anna" }, "error.field.format"],
    ["e-mails in a list", "email", { email: ["a@b.org", "c@d.org"] }, "error.field.type"],
    ["a long e-mail", "email", { email: `${long}@b.org` }, "error.field.too_long"],
    ["an alias with a slash", "username", { username: "a/b" }, "error.field.format"],
    ["a reserved alias", "username", { username: "Settings" }, "alias.reserved"],
    ["an alias that is an object", "username", { username: { $ne: 1 } }, "error.field.type"],
    [
      "a wrong old password",
      "password",
      { oldPassword: "no", ...twice("12345678") },
      "password.wrong",
    ],
    [
      "an old password in a list",
      "password",
      { oldPassword: ["a"], ...twice("12345678") },
      "error.field.type",
    ],
    [
      "a short password",
      "password",
      { oldPassword: "no", ...twice("1234567") },
      "error.field.too_short",
    ],
    ["a long password", "password", { oldPassword: "no", ...twice(long) }, "error.field.too_long"],
    [
      "two passwords",
      "password",
      { oldPassword: "no", password: "12345678", passwordConfirm: "12345679" },
      "password.confirmation",
    ],
  ] as const) {
    it(`is refused ${what}, and nothing happens`, async () => {
      const before = await app.head();
      const answer = await put(`/user/change-${at}`, body);
      expect(answer.status).to.equal(422);
      const errors = answer.body["errors"] as { code: string }[];
      expect(errors.map((error) => error.code)).to.include(code);
      expect(await app.head()).to.equal(before);
    });
  }

  for (const avatar of ["javascript:alert(1)", "file:///etc/passwd", "anna.png", ["a"]]) {
    it(`is refused the picture ${JSON.stringify(avatar)}`, async () => {
      expect((await put("/user/profile", { avatar })).status).to.equal(422);
    });
  }

  it("is refused an e-mail and an alias of another user", async () => {
    const boris = await someone();
    const email = await put("/user/change-email", { email: `${boris.alias}@EXAMPLE.org` });
    expect(email.body).to.include({ status: 422, code: "email.taken" });
    const alias = await put("/user/change-username", { username: boris.alias.toUpperCase() });
    expect(alias.body).to.include({ status: 422, code: "alias.taken" });
    expect(alias.body["errors"]).to.containSubset([{ field: "username" }]);
  });

  it("gives nobody rights or another identity", async () => {
    const body = { name: "A", admin: true, isAdmin: true, id: "x", username: "root", email: "e" };
    expect((await put("/user/profile", body)).status).to.equal(200);
    const me = await app.get("/user/me", { token: anna.token });
    expect(me.body).to.include({ id: anna.id, username: anna.alias });
    expect((await app.get("/admin/user", { token: anna.token })).status).to.equal(403);
  });

  it("is not changed by a token that may only read", async () => {
    const token = await app.givenToken(anna.id, ["USER_READ", "PROJECT_WRITE"]);
    for (const at of ["change-email", "change-username", "change-password", "profile"]) {
      const answer = await app.put(`/user/${at}`, { token, body: {} });
      expect(answer.body).to.include({ status: 403, code: "auth.scope_missing" });
    }
  });
});

describe("the administration of users", () => {
  let admin: TestUser;
  let anna: TestUser;
  before(async () => {
    admin = await someone({ admin: true });
    anna = await someone();
  });

  const at = (query: string) => app.get(`/admin/user?${query}`, { token: admin.token });
  it("finds users by parts of e-mail and alias", async () => {
    const { body } = await at(`q=${anna.alias.toUpperCase()}%40example`);
    expect(body["_embedded"]).to.deep.equal({
      restUserAdminModelList: [
        {
          id: anna.id,
          username: anna.alias,
          email: `${anna.alias}@example.org`,
          name: "",
          surname: "",
          fullName: anna.alias,
          avatar: "",
          cover: "",
          confirmed: true,
        },
      ],
    });
    const none = await at("q=%25");
    expect(none.body["page"]).to.include({ totalElements: 0, totalPages: 0 });
    const all = await at("");
    expect((all.body["page"] as { totalElements: number }).totalElements).to.be.greaterThan(2);
  });

  it("changes e-mail, password and alias of a user", async () => {
    const { alias } = anna;
    const put = (what: string, body: unknown) =>
      app.put(`/admin/user/${alias}/change-${what}`, { token: admin.token, body });
    expect((await put("email", { email: "given@example.org" })).status).to.equal(200);
    const password = "given by an administrator";
    const changed = await put("password", { password, passwordConfirm: password });
    expect(changed.status).to.equal(200);
    expect((await put("username", { username: "given-alias" })).status).to.equal(200);
    expect((await logIn("given@example.org", password)).status).to.equal(200);
    expect((await put("email", { email: "x@example.org" })).status).to.equal(404);
  });

  it("is open to administrators alone, and reveals nothing to others", async () => {
    const stranger = await someone();
    for (const [method, at] of [
      ["GET", "/admin/user"],
      ["PUT", `/admin/user/${admin.alias}/change-email`],
      ["PUT", `/admin/user/${admin.alias}/change-username`],
      ["PUT", `/admin/user/${admin.alias}/change-password`],
      ["PUT", "/admin/user/nobody/change-email"],
    ] as const) {
      const body = method === "GET" ? {} : { body: { email: "a@example.org" } };
      const answer = await app.send(method, at, { token: stranger.token, ...body });
      expect(answer.body).to.include({ status: 403, code: "auth.admin_required" });
    }
  });
});
