import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { newToken } from "../../../src/platform/key/token.ts";
import { startTestApp } from "../../support/app/app.ts";
import { basicAuth } from "../../support/app/basic-auth.ts";
import { browser } from "../../support/client/browser.ts";
import { repositoriesAt } from "../../support/client/registry.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");
const packages = "/registry/project/anna/forge/repository/nuget";

before(async () => {
  await app.givenProject(anna, "forge");
  const at = repositoriesAt(app, "/project/anna/forge/repositories", anna.token);
  await at.local("nuget", "nuget");
  await at.local("open", "nuget", { hasAnonymousAccess: true });
  await set("lock-account", {
    ...{ lockUser: true, maxAttempts: 2, timeToLockUser: 1 },
    timeToCountFailUserLoginAttempts: 60,
  });
});

const set = (group: string, body: unknown) =>
  app.post(`/admin/settings/${group}`, { token: root.token, body });
const newTokenBody = () => ({ name: randomUUID(), scopes: ["USER_READ"] });
const batch = { operation: "download", objects: [] };

/** Everywhere that reads an Authorization header. */
const doors: readonly (readonly [method: string, path: string, body?: () => unknown])[] = [
  ["POST", "/user/settings/access-token/create", newTokenBody],
  ["GET", "/user/me"],
  ["GET", "/project/anna/forge.git/info/refs?service=git-upload-pack"],
  ["POST", "/project/anna/forge.git/info/lfs/objects/batch", () => batch],
  ["GET", "/v2/"],
  ["GET", "/v2/_catalog"],
  ["GET", "/v2/token"],
  ["GET", "/v2/project/anna/forge/image/tags/list"],
  ["GET", `${packages}/index.json`],
  ["DELETE", `${packages}/package/tool/1.0.0`],
  ["GET", "/registry/project/anna/forge/repository/open/index.json"],
  ["GET", "/admin/queues"],
];

async function knock([method, path, body]: (typeof doors)[number], own: Record<string, string>) {
  const json = body && { body: JSON.stringify(body()) };
  const headers = { ...own, ...(json && { "content-type": "application/json" }) };
  const answer = await fetch(app.url + path, { method, headers, redirect: "manual", ...json });
  const text = (await answer.text()).replaceAll(
    /"(?:request_?[iI]d|token|access_token|issued_at)":"[^"]*"/g,
    "",
  );
  return {
    answer,
    seen: { status: answer.status, challenge: answer.headers.get("www-authenticate"), text },
  };
}

const counted = async (): Promise<readonly string[]> =>
  (await app.deps.db("public.counter").whereLike("key", "login-%").select("key")).map(
    ({ key }) => key,
  );

describe("an empty name with an empty password", () => {
  for (const door of doors) {
    it(`is no credentials: ${door[0]} ${door[1]}`, async () => {
      const { seen } = await knock(door, {});
      for (const authorization of ["Basic Og==", "basic Og", "Basic  Og=="]) {
        for (let n = 0; n < 3; n += 1) {
          expect((await knock(door, { authorization })).seen).to.deep.equal(seen);
        }
      }
      expect(await counted()).to.deep.equal([]);
    });
  }

  it("shows the page that an anonymous browser gets", async () => {
    const headers = { accept: "text/html", authorization: "Basic Og==" };
    const page = await browser(app.url).open("/project/anna/forge", headers);
    expect([page.status, page.location]).to.deep.equal([
      303,
      "/login?returnTo=%2Fproject%2Fanna%2Fforge",
    ]);
  });
});

describe("a wrong token in the place of a password", () => {
  const wrong = [
    "lfat_wrong",
    newToken("lfat"),
    newToken("lfjt"),
    "lftt_x",
    "lflt_e30.x",
    "lfct_e30.x",
  ];

  for (const door of doors) {
    it(`counts for no person: ${door[0]} ${door[1]}`, async () => {
      for (const token of wrong) {
        for (const authorization of [basicAuth("anna", token), `Bearer ${token}`]) {
          const { status } = (await knock(door, { authorization })).answer;
          expect(status, authorization).to.be.oneOf([401, 403]);
        }
      }
      expect(await counted()).to.deep.equal([]);
    });
  }

  it("counts for no person at the login page", async () => {
    const visitor = browser(app.url);
    for (const password of wrong) {
      const page = await visitor.open("/login");
      const { status } = await visitor.submit(page, "/login", { login: "anna", password });
      expect(status).to.equal(403);
    }
    expect(await counted()).to.deep.equal([]);
  });

  it("counts for the address, whose owners of right ones go on", async () => {
    await set("api-limit", { enableApiLimit: true, userApiCountLimit: 40 });
    try {
      const left: number[] = [];
      for (const door of doors) {
        const { answer } = await knock(door, { authorization: basicAuth("anna", "lfat_wrong") });
        left.push(Number(answer.headers.get("ratelimit-remaining")));
      }
      expect(left).to.deep.equal(left.map((_, n) => (left[0] as number) - n));
      const [, me] = doors;
      const authorization = `Bearer ${newToken("lfat")}`;
      for (let n = 0; n < 40; n += 1) await knock(me as (typeof doors)[number], { authorization });
      for (const door of doors) {
        const { answer } = await knock(door, { authorization: basicAuth("anna", "lfjt_wrong") });
        expect(answer.status, door[1]).to.equal(429);
      }
      expect((await app.get("/user/me", { token: anna.token })).status).to.equal(200);
      const authorized = { authorization: basicAuth("anna", anna.token) };
      expect((await app.get(`${packages}/index.json`, { headers: authorized })).status).to.equal(
        200,
      );
    } finally {
      await set("api-limit", { enableApiLimit: false });
    }
  });

  it("is no password that anybody can choose", async () => {
    const password = `${newToken("lfat")}`;
    const body = { email: "kim@example.org", alias: "kim", password };
    const { status, body: said } = await app.post("/user", { token: root.token, body });
    expect([status, said["message"]]).to.deep.equal([
      422,
      "password: A password does not begin like a token.",
    ]);
  });
});

describe("a name without a password and a password without a name", () => {
  it("are wrong, and count for nobody", async () => {
    for (const [login, secret] of [
      ["anna", ""],
      ["", "wrong password"],
    ] as const) {
      for (const door of doors) {
        const { status } = (await knock(door, { authorization: basicAuth(login, secret) })).answer;
        expect(status, door[1]).to.be.oneOf([401, 403]);
      }
    }
    expect(await counted()).to.deep.equal([]);
  });
});
