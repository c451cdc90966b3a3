import { expect } from "chai";
import { startHttp } from "../../../../src/http/role.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { eventually } from "../../../support/app/eventually.ts";

const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));

const app = await startTestApp();
const other = await startHttp(app.platform);
closing.push(other.close);

/**
 * How long a copy may outlive what it was made of, in another process: half a second is promised. Ten are
 * left to a loaded machine; a copy that is kept for a minute would show, and one without an end.
 */
const everywhereMs = 10_000;
/** How long a copy is kept, which limits how often it is queried again. */
const keptMs = 500;

const root = await app.givenUser("root", { admin: true });
let counter = 0;
let anna: TestUser;
beforeEach(async () => {
  counter += 1;
  anna = await app.givenUser(`anna-${counter}`);
});

const statusAt = async (url: string, token: string) =>
  (await fetch(`${url}/user/me`, { headers: { authorization: `token ${token}` } })).status;

/** Keeps both processes busy with the token, so that both have it in memory. */
async function inMemory(token: string): Promise<void> {
  for (const url of [app.url, other.url]) expect(await statusAt(url, token)).to.equal(200);
}

async function stopsEverywhere(token: string): Promise<void> {
  expect(await statusAt(app.url, token)).to.equal(403);
  await eventually(async () => (await statusAt(other.url, token)) === 403, everywhereMs);
}

describe("a token in use by two processes", () => {
  it("stops at once where it is revoked, and within a second elsewhere", async () => {
    const { body } = await app.post("/user/settings/access-token/create", {
      headers: {
        authorization: basicAuth(anna.alias, anna.password),
      },
      body: { name: "laptop", scopes: ["USER_READ"] },
    });
    const token = String(body["token"]);
    await inMemory(token);
    await app.delete("/user/settings/access-token/laptop", { token: anna.token });
    await stopsEverywhere(token);
  });

  it("stops with its user's block, and comes back with its end", async () => {
    await inMemory(anna.token);
    const account = `/admin/user/${anna.id}/account`;
    expect((await app.post(`${account}/ban`, { token: root.token })).status).to.equal(200);
    await stopsEverywhere(anna.token);
    expect((await app.post(`${account}/unban`, { token: root.token })).status).to.equal(200);
    expect(await statusAt(app.url, anna.token)).to.equal(200);
    await eventually(async () => (await statusAt(other.url, anna.token)) === 200, everywhereMs);
  });

  it("is still checked when the announcement of a change never came", async () => {
    await inMemory(anna.token);
    await app.platform.db("app_user").where({ id: anna.id }).update({ banned_at: new Date() });
    for (const url of [app.url, other.url]) {
      await eventually(async () => (await statusAt(url, anna.token)) === 403, everywhereMs);
    }
  });

  it("costs no question to the database while it is remembered", async () => {
    await inMemory(anna.token);
    let queries = 0;
    const count = (query: { sql: string }): void => {
      if (query.sql.includes("access_token")) queries += 1;
    };
    app.platform.db.on("query", count);
    const start = performance.now();
    try {
      for (let n = 0; n < 40; n += 1) await statusAt(app.url, anna.token);
    } finally {
      app.platform.db.off("query", count);
    }
    expect(queries).to.be.below(3 + (performance.now() - start) / keptMs);
  });
});

describe("a setting changed in one process", () => {
  it("holds in the other within a second", async () => {
    const set = (userApiCountLimit: number, enableApiLimit: boolean) =>
      app.post("/admin/settings/api-limit", {
        token: root.token,
        body: { enableApiLimit, userApiCountLimit },
      });
    const left = async () => {
      const headers = { authorization: `token ${anna.token}` };
      const answer = await fetch(`${other.url}/user/me`, { headers });
      return answer.headers.get("ratelimit-limit");
    };
    expect(await left()).to.equal(null);
    await set(77, true);
    await eventually(async () => (await left()) === "77", everywhereMs);
    await set(77, false);
    await eventually(async () => (await left()) === null, everywhereMs);
  });
});
