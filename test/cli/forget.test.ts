import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { runProgram, type Service, startService } from "../support/service.ts";

const adminPassword = "a password of the administrator";
const email = "somebody.private@example.org";

describe("a command on the accounts of a running service", function () {
  this.timeout(600_000);

  let root: string;
  let service: Service;
  let token: string;

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "lf-forget-"));
    const environment = { ADMIN_PASSWORD: adminPassword, LOG_LEVEL: "silent" };
    service = await startService(path.join(root, "data"), environment);
    token = await login("admin", adminPassword, ["USER_WRITE"]);
  });
  after(async () => {
    await service.stop();
    await rm(root, { recursive: true, force: true });
  });

  const call = (at: string, headers: Record<string, string>, body?: unknown) =>
    fetch(service.url + at, {
      method: body === undefined ? "GET" : "POST",
      headers: { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  async function login(alias: string, password: string, scopes: readonly string[]) {
    const basic = Buffer.from(`${alias}:${password}`).toString("base64");
    const headers = { authorization: `Basic ${basic}` };
    const body = { name: `${alias} ${randomUUID()}`, scopes };
    const answer = await call("/user/settings/access-token/create", headers, body);
    return ((await answer.json()) as { token: string }).token;
  }

  async function ledgerforge(...args: readonly string[]) {
    const ran = runProgram(args, { DATA_DIR: service.dataDir, LOG_LEVEL: "silent" });
    const [code] = await ran.exited;
    return { code, output: ran.output() };
  }

  it("sets a random password for who has lost theirs, and shows it once", async () => {
    const { code, output } = await ledgerforge("admin", "reset-password", "ADMIN");
    const [, password = ""] = /^admin has the password (\S{16}) now\.\n$/.exec(output) ?? [];
    expect([code, password === ""], output).to.deep.equal([0, false]);
    expect(await login("admin", adminPassword, ["USER_READ"])).to.equal(undefined);
    expect(await login("admin", password, ["USER_READ"])).to.be.a("string");
    const nobody = await ledgerforge("admin", "reset-password", "nobody");
    expect(nobody).to.deep.equal({ code: 1, output: "There is no user nobody.\n" });
  });

  it("gives the settings of one group their defaults again", async () => {
    const admin = { authorization: `token ${token}` };
    const set = async (group: string, body: object) =>
      (await call(`/admin/settings/${group}`, admin, body)).status;
    expect(await set("basic-auth", { enableBasicAuth: false })).to.equal(200);
    expect(await set("login-page", { isEnableBasic: false, loginPageUrl: "SAML" })).to.equal(200);
    const reset = await ledgerforge("admin", "settings", "reset", "login-page");
    expect(reset).to.deep.equal({
      code: 0,
      output: "The settings of login-page have their defaults.\n",
    });
    const settings = await (await call("/admin/settings", admin)).json();
    const page = { defaultLoginPage: "BASIC", enableBasicLoginPage: true };
    expect(settings).to.include({ ...page, enableBasicAuth: false });
    expect((await ledgerforge("admin", "settings", "reset", "basic-auth")).code).to.equal(0);
    const none = await ledgerforge("admin", "settings", "reset", "none");
    expect(none.code).to.equal(1);
    expect(none.output).to.include("There is no group none. Groups: 2factor, api-limit");
    expect((await ledgerforge("admin")).code).to.equal(64);
    expect((await ledgerforge("admin", "settings", "erase", "ssh")).code).to.equal(64);
  });

  it("leaves nothing personal in answers, exports and rebuilt views, and the log intact", async () => {
    const admin = { authorization: `token ${token}` };
    const password = "somebody's own password";
    const made = await call("/user", admin, { alias: "somebody", email, password });
    expect(made.status).to.equal(200);
    const own = { authorization: `token ${await login("somebody", password, ["USER_READ"])}` };
    expect((await call("/user/me", own)).status).to.equal(200);
    expect((await ledgerforge("events", "export")).output).to.include(email);
    const before = (await ledgerforge("audit", "verify")).output;

    const past = await ledgerforge("rebuild", "user", "--until", String(10 ** 9));
    expect(past.code, past.output).to.equal(0);

    const { code, output } = await ledgerforge("forget", "somebody");
    expect(code).to.equal(0);
    expect(output).to.match(/^somebody is forgotten\.\n.* personal data: past; drop them, .*\n$/);
    expect((await call("/user/me", own)).status).to.equal(403);
    expect((await call("/user/somebody", admin)).status).to.equal(404);
    const exported = await ledgerforge("events", "export");
    expect(exported.code).to.equal(0);
    expect(exported.output).to.include("UserForgotten").and.not.include(email);
    const rebuilt = await ledgerforge("rebuild", "--verify");
    expect(rebuilt.code, rebuilt.output).to.equal(0);
    const mark = before.trim().split("\n").at(-1) ?? "";
    const verified = await ledgerforge("audit", "verify", "--expect", mark);
    expect(verified.code, verified.output).to.equal(0);
  });

  it("reports an unknown user and a missing name", async () => {
    const nobody = await ledgerforge("forget", "nobody");
    expect(nobody).to.deep.equal({ code: 1, output: "There is no user nobody.\n" });
    expect((await ledgerforge("forget")).code).to.equal(64);
  });
});
