import { createHash } from "node:crypto";
import { expect } from "chai";

import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { exchange, givenApplication, givenCode } from "../../../support/app/oauth.ts";
import { browser } from "../../../support/client/browser.ts";
import { repositoriesAt } from "../../../support/client/registry.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const owner = await app.givenUser("owner");

describe("the challenge of the registry of containers", () => {
  it("names the image that a blob is mounted from", async () => {
    const target = "anna/forge/images/mounted";
    const source = "anna/forge/images/source";
    const challenged = async (query: string) => {
      const url = `${app.url}/v2/${target}/blobs/uploads/?${query}`;
      const { headers } = await fetch(url, { method: "POST" });
      return /scope="([^"]*)"/.exec(headers.get("www-authenticate") ?? "")?.[1];
    };
    const own = `repository:${target}:pull,push`;
    const mount = `mount=sha256:${"0".repeat(64)}`;
    const both = `${own} repository:${source}:pull`;
    expect(await challenged(`${mount}&from=${source}`)).to.equal(both);
    const others = ["", "&from=a%22,x=%22b", "&from=A/b", `&from=${"a/".repeat(200)}b`];
    for (const other of others) expect(await challenged(mount + other), other).to.equal(own);
    expect(await challenged(`from=${source}`), "nothing to mount").to.equal(own);
  });
});

describe("a token of the registry of containers", () => {
  let counter = 0;
  let carl: TestUser;
  beforeEach(async () => {
    counter += 1;
    carl = await app.givenUser(`carl-${counter}`);
    await app.givenProject(carl, "hut");
    const base = `/project/${carl.alias}/hut/repositories`;
    await repositoriesAt(app, base, carl.token).local("images", "container");
  });

  const image = () => `${carl.alias}/hut/images/app`;

  it("is refused, not challenged for, where the account is locked", async () => {
    const settings = await app.deps.settings();
    const call = async () => {
      const headers = { authorization: basicAuth(carl.alias, "wrong") };
      const answer = await fetch(`${app.url}/v2/token`, { headers });
      const { errors } = (await answer.json()) as { errors: readonly { code: string }[] };
      return [answer.status, errors[0]?.code, answer.headers.has("www-authenticate")];
    };
    for (let n = 0; n < settings.maxAttemptsToLoginIntoAccount; n += 1) {
      expect(await call()).to.deep.equal([401, "UNAUTHORIZED", true]);
    }
    expect(await call()).to.deep.equal([403, "DENIED", false]);
  });

  async function tokenFor(secret: string): Promise<Record<string, string>> {
    const scope = encodeURIComponent(`repository:${image()}:pull,push`);
    const granted = await fetch(`${app.url}/v2/token?scope=${scope}`, {
      headers: { authorization: basicAuth(carl.alias, secret) },
    });
    const { token } = (await granted.json()) as { token: string };
    return { authorization: `Bearer ${token}` };
  }

  /** A push, by the token that a password or another token obtains; it is let in once before. */
  async function pushing(secret: string): Promise<() => Promise<number>> {
    const headers = await tokenFor(secret);
    const begin = async () =>
      (await fetch(`${app.url}/v2/${image()}/blobs/uploads/`, { method: "POST", headers })).status;
    expect(await begin()).to.equal(202);
    return begin;
  }

  it("ends with the access token that it was requested with", async () => {
    const created = await app.post("/user/settings/access-token/create", {
      headers: { authorization: basicAuth(carl.alias, carl.password) },
      body: { name: "laptop", scopes: ["WRITE_REGISTRY"] },
    });
    const begin = await pushing(String(created.body["token"]));
    await app.delete("/user/settings/access-token/laptop", { token: carl.token });
    expect(await begin()).to.equal(401);
  });

  it("ends when the access token expires", async () => {
    const inShort = new Date(Date.now() + 60_000).toISOString();
    const begin = await pushing(await app.givenToken(carl.id, ["WRITE_REGISTRY"], inShort));
    const rows = app.deps.db("access_token").where({ user_id: carl.id, expires_at: inShort });
    await rows.update({ expires_at: new Date(Date.now() - 1) });
    await eventually(async () => (await begin()) === 401);
  });

  it("ends with the password that it was requested with", async () => {
    const begin = await pushing(carl.password);
    const password = "another long password";
    const body = { oldPassword: carl.password, password, passwordConfirm: password };
    const changed = await app.put("/user/change-password", { token: carl.token, body });
    expect(changed.status, changed.text).to.equal(200);
    expect(await begin()).to.equal(401);
  });

  it("ends when its user is blocked", async () => {
    const begin = await pushing(carl.token);
    const ban = (id: string) => app.post(`/admin/user/${id}/account/ban`, { token: root.token });
    expect((await ban(carl.id)).status).to.equal(200);
    expect(await begin()).to.equal(401);
  });

  it("ends with the application that it was requested with", async () => {
    const application = await givenApplication(app, owner);
    const visitor = browser(app.url);
    await visitor.logIn(carl);
    const code = await givenCode(visitor, application, { scope: "WRITE_REGISTRY" });
    const begin = await pushing(
      String((await exchange(app, application, code)).body["access_token"]),
    );
    const shut = `/user/settings/authorized-application/${application.id}`;
    expect((await app.delete(shut, { token: carl.token })).status).to.be.oneOf([200, 204]);
    expect(await begin()).to.equal(401);
  });

  it("costs few questions about contents while one is pushed", async () => {
    let queries = 0;
    const count = ({ sql }: Readonly<{ sql: string }>) => {
      if (/container_|blob_hold/.test(sql)) queries += 1;
    };
    const headers = await tokenFor(carl.token);
    const send = async (method: string, path: string, body?: string) =>
      await fetch(app.url + path, { method, headers, ...(body === undefined ? {} : { body }) });
    const blobs = `/v2/${image()}/blobs`;
    const digest = `sha256:${createHash("sha256").update("a content").digest("hex")}`;
    app.deps.db.on("query", count);
    try {
      expect((await send("HEAD", `${blobs}/${digest}`)).status).to.equal(404);
      const upload = (await send("POST", `${blobs}/uploads/`)).headers.get("location") ?? "";
      expect((await send("PATCH", upload, "a content")).status).to.equal(202);
      expect((await send("PUT", `${upload}?digest=${digest}`)).status).to.equal(201);
    } finally {
      app.deps.db.off("query", count);
    }
    expect(queries).to.be.at.most(10);
  });
});
