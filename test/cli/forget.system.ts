import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { startTestApp } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { runCli } from "../support/process/cli.ts";

const email = "somebody.private@example.org";
const app = await startTestApp();
const admin = await app.givenUser("admin", { admin: true });
const { token } = admin;

describe("a command on the accounts of a running service", function () {
  this.timeout(600_000);

  async function login(alias: string, password: string, scopes: readonly string[]) {
    const headers = { authorization: basicAuth(alias, password) };
    const body = { name: `${alias} ${randomUUID()}`, scopes };
    return (await app.post("/user/settings/access-token/create", { headers, body })).body["token"];
  }

  const ledgerforge = (...args: readonly string[]) => runCli(app, ...args);

  it("sets a random password for who has lost theirs, and shows it once", async () => {
    const { code, out } = await ledgerforge("admin", "reset-password", "ADMIN");
    const [, password = ""] = /^admin has the password (\S{16}) now\.\n$/.exec(out) ?? [];
    expect([code, password === ""], out).to.deep.equal([0, false]);
    expect(await login("admin", admin.password, ["USER_READ"])).to.equal(undefined);
    expect(await login("admin", password, ["USER_READ"])).to.be.a("string");
    const nobody = await ledgerforge("admin", "reset-password", "nobody");
    expect(nobody).to.deep.equal({ code: 1, out: "There is no user nobody.\n" });
  });

  it("gives the settings of one group their defaults again", async () => {
    const set = async (group: string, body: object) =>
      (await app.post(`/admin/settings/${group}`, { token, body })).status;
    expect(await set("basic-auth", { enableBasicAuth: false })).to.equal(200);
    expect(await set("login-page", { isEnableBasic: false, loginPageUrl: "SAML" })).to.equal(200);
    const reset = await ledgerforge("admin", "settings", "reset", "login-page");
    expect(reset).to.deep.equal({
      code: 0,
      out: "The settings of login-page have their defaults.\n",
    });
    const settings = (await app.get("/admin/settings", { token })).body;
    const page = { defaultLoginPage: "BASIC", enableBasicLoginPage: true };
    expect(settings).to.include({ ...page, enableBasicAuth: false });
    expect((await ledgerforge("admin", "settings", "reset", "basic-auth")).code).to.equal(0);
    const none = await ledgerforge("admin", "settings", "reset", "none");
    expect(none.code).to.equal(1);
    expect(none.out).to.include("There is no group none. Groups: 2factor, api-limit");
    expect((await ledgerforge("admin")).code).to.equal(64);
    expect((await ledgerforge("admin", "settings", "erase", "ssh")).code).to.equal(64);
  });

  it("leaves nothing personal in answers, exports and rebuilt views, and the log intact", async () => {
    const password = "somebody's own password";
    const body = { alias: "somebody", email, password };
    expect((await app.post("/user", { token, body })).status).to.equal(200);
    const own = { token: String(await login("somebody", password, ["USER_READ"])) };
    expect((await app.get("/user/me", own)).status).to.equal(200);
    expect((await ledgerforge("events", "export")).out).to.include(email);
    const before = (await ledgerforge("audit", "verify")).out;

    const past = await ledgerforge("rebuild", "user", "--until", String(10 ** 9));
    expect(past.code, past.out).to.equal(0);

    const { code, out } = await ledgerforge("forget", "somebody");
    expect(code).to.equal(0);
    expect(out).to.match(/^somebody is forgotten\.\n.* personal data: past; drop them, .*\n$/);
    expect((await app.get("/user/me", own)).status).to.equal(403);
    expect((await app.get("/user/somebody", { token })).status).to.equal(404);
    const exported = await ledgerforge("events", "export");
    expect(exported.code).to.equal(0);
    expect(exported.out).to.include("UserForgotten").and.not.include(email);
    const rebuilt = await ledgerforge("rebuild", "--verify");
    expect(rebuilt.code, rebuilt.out).to.equal(0);
    const mark = before.trim().split("\n").at(-1) ?? "";
    const verified = await ledgerforge("audit", "verify", "--expect", mark);
    expect(verified.code, verified.out).to.equal(0);
  });

  it("reports an unknown user and a missing name", async () => {
    const nobody = await ledgerforge("forget", "nobody");
    expect(nobody).to.deep.equal({ code: 1, out: "There is no user nobody.\n" });
    expect((await ledgerforge("forget")).code).to.equal(64);
  });
});
