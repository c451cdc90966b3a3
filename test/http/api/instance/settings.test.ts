import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { settingsDefaults } from "../../../../src/events/instance/settings.ts";
import { settingsRoutes } from "../../../../src/http/api/instance/settings.ts";
import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";

const app = await startTestApp({ cheapPasswords: true });
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");

const set = (group: string, body: unknown, token = root.token) =>
  app.post(`/admin/settings/${group}`, { token, body });
const basic = (login: string, password: string) => ({
  authorization: basicAuth(login, password),
});
const logIn = (login: string, password: string) =>
  app.post("/user/settings/access-token/create", {
    headers: basic(login, password),
    body: { name: randomUUID(), scopes: ["USER_READ"] },
  });
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

describe("the settings", () => {
  it("begin with their defaults, whole", async () => {
    const { status, body } = await app.get("/admin/settings", { token: root.token });
    expect([status, body]).to.deep.equal([200, settingsDefaults]);
  });

  for (const [group, body, changes] of [
    [
      "create-permissions",
      { enableCreateProject: true, enableCreateTeam: "true", enableCreateCompany: true },
      {},
    ],
    ["2factor", { enableTwoFactor: "true" }, { enableTwoFactor: true }],
    ["basic-auth", { enableBasicAuth: true }, {}],
    [
      "login-page",
      { loginPageUrl: "SAML", isEnableBasic: true, isEnableSaml: true, isEnableOIDC: true },
      { defaultLoginPage: "SAML", enableSamlLoginPage: true, enableOidcLoginPage: true },
    ],
    ["project-report", { enableReport: false }, { enableReports: false }],
    [
      "lock-account",
      {
        lockUser: true,
        maxAttempts: "7",
        timeToLockUser: 3,
        timeToCountFailUserLoginAttempts: 60,
      },
      {
        maxAttemptsToLoginIntoAccount: 7,
        timeToLockUser: 3,
        timeToCountFailUserLoginAttempts: 60,
      },
    ],
    [
      "archive-password",
      { enableArchiveUserPasswords: false, maxUserArchivedPasswords: 5 },
      { maxUserArchivedPasswords: 5 },
    ],
    ["auth-methods", { disableLdapAuth: true }, { disableLdapAuth: true }],
    ["files", { fileDownloadIsEnabled: true }, {}],
    [
      "email-validation",
      { whiteListDomains: ["Example.ORG", "example.org"], userAutoConfirm: true },
      { whiteListDomains: ["example.org"] },
    ],
    ["api-limit", { enableApiLimit: false, userApiCountLimit: 500 }, { userApiCountLimit: 500 }],
    ["ssh", { sshPort: 2022 }, { sshPort: 2022 }],
    ["registry", { globalRegistryAnonymousAccess: true }, { globalRegistryAnonymousAccess: true }],
    ["mirrors", { projectUpdateLag: 9 }, { projectUpdateLag: 9 }],
    [
      "session",
      { sessionMaxInactiveIntervalMinutes: 11 },
      { sessionMaxInactiveIntervalMinutes: 11 },
    ],
  ] as const) {
    it(`change by ${group}, at both prefixes, and are answered whole`, async () => {
      const { body: before } = await app.get("/admin/settings", { token: root.token });
      const { status, body: after } = await set(group, body);
      expect([status, after]).to.deep.equal([200, { ...before, ...changes }]);
      const head = await app.head();
      const again = await app.post(`/rest-api/admin/settings/${group}`, {
        token: root.token,
        body,
      });
      expect(again.body).to.deep.equal(after);
      expect(await app.head()).to.equal(head);
    });
  }

  it("are changed by their own names as well", async () => {
    const names = {
      "create-permissions": ["projectCreatePermission", false],
      "login-page": ["enableOidcLoginPage", false],
      "project-report": ["enableReports", true],
      "lock-account": ["maxAttemptsToLoginIntoAccount", 8],
      "archive-password": ["archiveUserPasswordsIsEnabled", true],
    } as const;
    for (const [group, [name, value]] of Object.entries(names)) {
      const { body } = await set(group, { [name]: value });
      expect(body[name], name).to.equal(value);
    }
    await set("create-permissions", { enableCreateProject: true });
  });

  it("are refused by their group when it knows none of them", async () => {
    const head = await app.head();
    for (const { method, path } of settingsRoutes) {
      if (method !== "post") continue;
      for (const body of [{}, { enableNothing: true }]) {
        const answer = await app.post(path, { token: root.token, body });
        expect(answer.status, path).to.equal(422);
        expect(answer.text, path).to.contain("Give at least one of ");
      }
    }
    expect((await set("login-page", {})).text).to.contain("isEnableOIDC, enableOidcLoginPage");
    expect(await app.head()).to.equal(head);
  });

  it("are read and changed by administrators alone", async () => {
    const head = await app.head();
    for (const { method, path } of settingsRoutes) {
      const sent = method === "get" ? {} : { body: {} };
      const answer = await app.send(method.toUpperCase(), path, { token: anna.token, ...sent });
      expect(codeOf(answer), path).to.deep.equal([403, "auth.admin_required"]);
    }
    const { token } = anna;
    expect((await app.get("/admin/settings", { token })).status).to.equal(403);
    expect(await app.head()).to.equal(head);
  });

  for (const [group, body] of [
    ["login-page", { loginPageUrl: "NONE" }],
    ["lock-account", { maxAttempts: 0 }],
    ["lock-account", { timeToLockUser: -1 }],
    ["lock-account", { maxAttempts: "many" }],
    ["basic-auth", { enableBasicAuth: "perhaps" }],
    ["ssh", { sshPort: 65_536 }],
    ["api-limit", { userApiCountLimit: 1.5 }],
    ["archive-password", { maxUserArchivedPasswords: 1_000 }],
    ["email-validation", { blackListDomains: ["not a domain"] }],
    ["email-validation", { blackListDomains: "example.org" }],
  ] as const) {
    it(`are not changed by ${group} with ${JSON.stringify(body)}`, async () => {
      const head = await app.head();
      expect((await set(group, body)).status).to.equal(422);
      expect(await app.head()).to.equal(head);
    });
  }

  const yearOfMinutes = 366 * 24 * 60;
  for (const [group, field, min, max] of [
    ["lock-account", "maxAttempts", 1, 1_000],
    ["lock-account", "timeToLockUser", 1, yearOfMinutes],
    ["lock-account", "timeToCountFailUserLoginAttempts", 1, 31 * 24 * 3_600],
    ["archive-password", "maxUserArchivedPasswords", 0, 24],
    ["api-limit", "userApiCountLimit", 1, 1_000_000_000],
    ["ssh", "sshPort", 1, 65_535],
    ["mirrors", "projectUpdateLag", 1, yearOfMinutes],
    ["mirrors", "pullMirrorUpdateIntervalMinutes", 1, yearOfMinutes],
    ["mirrors", "pushMirrorUpdateIntervalMinutes", 1, yearOfMinutes],
    ["session", "sessionMaxInactiveIntervalMinutes", 1, yearOfMinutes],
  ] as const) {
    it(`go as far as ${field} may, and no further`, async () => {
      for (const value of [min, max]) {
        expect((await set(group, { [field]: value })).status, `${value}`).to.equal(200);
      }
      const head = await app.head();
      for (const value of [min - 1, max + 1]) {
        expect((await set(group, { [field]: value })).status, `${value}`).to.equal(422);
      }
      expect(await app.head()).to.equal(head);
    });
  }

  it("hold as many domains as anybody has, and none longer than a domain can be", async () => {
    const domain = (length: number) => `${"a.".repeat(length / 2 - 1)}aa`;
    const status = async (domains: readonly string[]) =>
      (await set("email-validation", { blackListDomains: domains })).status;
    const many = Array.from({ length: 1_001 }, (_, index) => `d${index}.example`);
    expect(await status([domain(254)])).to.equal(422);
    expect(await status(many)).to.equal(422);
    expect(await status([...many.slice(2), domain(252)])).to.equal(200);
    expect(await status([])).to.equal(200);
  });
});

describe("a setting in force", () => {
  it("decides who may create projects, teams and companies", async () => {
    const create = (kind: string, token: string) =>
      app.post(`/${kind}`, {
        token,
        body: { title: "T", alias: `t-${randomUUID()}`, isPrivate: true },
      });
    const names = { project: "Project", team: "Team", company: "Company" } as const;
    for (const [kind, name] of Object.entries(names)) {
      await set("create-permissions", { [`enableCreate${name}`]: false });
      expect(codeOf(await create(kind, anna.token))).to.deep.equal([403, "create.forbidden"]);
      expect((await create(kind, root.token)).status, kind).to.equal(200);
      await set("create-permissions", { [`enableCreate${name}`]: true });
      expect((await create(kind, anna.token)).status, kind).to.equal(200);
    }
  });

  it("decides who may make projects public, now or later", async () => {
    const publish = (isPrivate: boolean) =>
      app.post("/project", {
        token: anna.token,
        body: { title: "T", alias: `t-${randomUUID()}`, isPrivate },
      });
    await set("create-permissions", { publicRepositoryAutoPermission: false });
    expect(codeOf(await publish(false))).to.deep.equal([403, "create.public_forbidden"]);
    const made = await publish(true);
    expect(made.status).to.equal(200);
    const at = `/project/anna/${made.body["alias"]}/setting/visibility`;
    const show = () => app.put(at, { token: anna.token, body: { isPrivate: false } });
    expect(codeOf(await show())).to.deep.equal([403, "create.public_forbidden"]);
    await set("create-permissions", { publicRepositoryAutoPermission: true });
    expect((await show()).status).to.equal(200);
  });

  it("is refused when it would leave no way in without an administrator's token", async () => {
    const made = await app.post("/user/settings/access-token/create", {
      headers: basic("root", root.password),
      body: { name: "short", scopes: ["USER_WRITE"], expiresAt: inAnHour() },
    });
    const token = String(made.body["token"]);
    await app.deps
      .db("access_token")
      .where({ user_id: root.id })
      .whereNull("expires_at")
      .update({
        expires_at: new Date(inAnHour()),
      });
    const others = { isEnableLdap: false, isEnableSaml: false, isEnableOidc: false };
    expect((await set("login-page", others, token)).status).to.equal(200);
    expect((await set("basic-auth", { enableBasicAuth: false }, token)).status).to.equal(200);
    const last = await set("login-page", { isEnableBasic: false }, token);
    expect(codeOf(last)).to.deep.equal([422, "settings.no_way_in"]);
    await app.deps.db("access_token").where({ user_id: root.id }).whereNot("name", "short").update({
      expires_at: null,
    });
    expect((await set("login-page", { isEnableBasic: false }, token)).status).to.equal(200);
    await set("login-page", { isEnableBasic: true });
    await set("basic-auth", { enableBasicAuth: true });
  });

  it("switches tokens by Basic authentication off and on", async () => {
    await set("basic-auth", { enableBasicAuth: false });
    expect(codeOf(await logIn("anna", anna.password))).to.deep.equal([403, "auth.basic_disabled"]);
    await set("basic-auth", { enableBasicAuth: true });
    expect((await logIn("anna", anna.password)).status).to.equal(200);
  });

  it("forbids passwords that were used before", async () => {
    const bodo = await app.givenUser("bodo");
    const renew = (oldPassword: string, password: string) =>
      app.put("/user/change-password", {
        token: bodo.token,
        body: { oldPassword, password, passwordConfirm: password },
      });
    const archive = { enableArchiveUserPasswords: true, maxUserArchivedPasswords: 2 };
    await set("archive-password", archive);
    expect((await renew(bodo.password, "second password")).status).to.equal(200);
    const archived = [422, "password.archived"];
    expect(codeOf(await renew("second password", bodo.password))).to.deep.equal(archived);
    expect(codeOf(await renew("second password", "second password"))).to.deep.equal(archived);
    const byAdmin = await app.put("/admin/user/bodo/change-password", {
      token: root.token,
      body: { password: bodo.password, passwordConfirm: bodo.password },
    });
    expect(codeOf(byAdmin)).to.deep.equal(archived);
    await set("archive-password", { enableArchiveUserPasswords: false });
    expect((await renew("second password", bodo.password)).status).to.equal(200);
  });

  it("decides which domains accounts may have, and whether they count as confirmed", async () => {
    let n = 0;
    const register = (domain: string) => {
      n += 1;
      const body = { alias: `mail-${n}`, email: `m${n}@${domain}`, password: "a long password" };
      return app.post("/user", { token: root.token, body });
    };
    const forbidden = [422, "email.domain_forbidden"];
    const whiteListDomains = ["good.org"];
    const blackListDomains = ["bad.org"];
    const lists = { whiteListDomains, blackListDomains };
    await set("email-validation", {
      enableDomainValidation: true,
      enableWhiteList: true,
      ...lists,
    });
    expect((await register("GOOD.org")).status).to.equal(200);
    expect(codeOf(await register("sub.good.org"))).to.deep.equal(forbidden);
    expect(codeOf(await register("other.org"))).to.deep.equal(forbidden);

    await set("email-validation", { enableWhiteList: false, userAutoConfirm: false });
    expect((await register("other.org")).status).to.equal(200);
    expect(codeOf(await register("BAD.org"))).to.deep.equal(forbidden);
    const change = (at: string, token: string) =>
      app.put(at, { token, body: { email: "a@bad.org" } });
    expect(codeOf(await change("/user/change-email", anna.token))).to.deep.equal(forbidden);
    const asAdmin = await change("/admin/user/anna/change-email", root.token);
    expect(codeOf(asAdmin)).to.deep.equal(forbidden);

    await set("email-validation", { enableDomainValidation: false, userAutoConfirm: true });
    expect((await register("bad.org")).status).to.equal(200);
    const { body } = await app.get("/admin/user?q=mail-", { token: root.token });
    const list = (body["_embedded"] as { restUserAdminModelList: { confirmed: boolean }[] })
      .restUserAdminModelList;
    expect(list.map(({ confirmed }) => confirmed)).to.deep.equal([true, false, true]);
  });

  it("shows the SSH port in the addresses of projects", async () => {
    await app.givenProject(anna, "remote", { private: false });
    const shown = async () => {
      const one = await app.get("/project/anna/remote", { token: anna.token });
      const all = await app.get("/user/anna/projects?size=200", { token: anna.token });
      const { projectList } = all.body["_embedded"] as {
        projectList: { alias: string; sshTransportUrl: string }[];
      };
      const summary = projectList.find(({ alias }) => alias === "remote");
      expect(summary?.sshTransportUrl).to.equal(one.body["sshTransportUrl"]);
      return one.body["sshTransportUrl"];
    };
    expect(await shown()).to.equal("git@127.0.0.1:anna/remote.git");
    await set("ssh", { enableCustomSshPort: true, sshPort: 2222 });
    expect(await shown()).to.equal("ssh://git@127.0.0.1:2222/anna/remote.git");
    await set("ssh", { enableCustomSshPort: false });
    expect(await shown()).to.equal("git@127.0.0.1:anna/remote.git");
  });

  it("lets strangers fetch public projects, or not", async () => {
    await app.givenProject(anna, "open", { private: false });
    const fetchRefs = () => app.get("/project/anna/open.git/info/refs?service=git-upload-pack");
    expect((await fetchRefs()).status).to.equal(200);
    await set("files", { pullRepoFromAnonUserIsEnabled: false });
    expect((await fetchRefs()).status).to.equal(401);
    const headers = basic("anna", anna.password);
    const at = "/project/anna/open.git/info/refs?service=git-upload-pack";
    expect((await app.get(at, { headers })).status).to.equal(200);
    await set("files", { pullRepoFromAnonUserIsEnabled: true });
    expect((await fetchRefs()).status).to.equal(200);
  });

  it("switches downloads of files off", async () => {
    const at = `/project/anna/open/blob/download?commitHash=${"0".repeat(40)}&file=a`;
    const download = async () => codeOf(await app.get(at, { token: anna.token }));
    expect(await download()).not.to.include("download.disabled");
    await set("files", { fileDownloadIsEnabled: false });
    expect(await download()).to.deep.equal([403, "download.disabled"]);
    await set("files", { fileDownloadIsEnabled: true });
  });
});
