import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Context } from "koa";
import { handle } from "../../../src/commands/core/handle.ts";
import { accessToken } from "../../../src/commands/token/access-token.ts";
import { user } from "../../../src/commands/user/user.ts";
import { AccessTokenId } from "../../../src/events/core/ids.ts";
import { authenticate } from "../../../src/http/access/authenticate.ts";
import { hashToken, newToken } from "../../../src/platform/key/token.ts";
import { findTokenCaller } from "../../../src/projections/access/caller.ts";
import { codeOf } from "../../support/app/answer.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { basicAuth } from "../../support/app/basic-auth.ts";
import { metadataFor } from "../../support/app/history.ts";

const app = await startTestApp();
const { db, store } = app.deps;

let anna: TestUser;
let admin: TestUser;
before(async () => {
  [anna, admin] = await Promise.all([
    app.givenUser("anna"),
    app.givenUser("root", { admin: true }),
  ]);
});

const me = (authorization: string) => app.get("/user/me", { headers: { authorization } });
const createToken = (authorization: string, name: string = randomUUID()) =>
  app.post("/user/settings/access-token/create", {
    headers: { authorization },
    body: { name, scopes: ["USER_READ"] },
  });

describe("a token", () => {
  it("is taken by either scheme", async () => {
    for (const scheme of ["token", "Token", "Bearer", "bearer"]) {
      const answer = await me(`${scheme} ${anna.token}`);
      expect(answer.status, scheme).to.equal(200);
      expect(answer.body).to.include({ username: "anna", email: "anna@example.org" });
    }
  });

  it("is refused in any other form", async () => {
    for (const authorization of [
      "",
      anna.token,
      "token",
      `token ${anna.token} ${anna.token}`,
      `token ${anna.token.slice(0, -1)}`,
      `token ${newToken("lfat")}`,
      basicAuth("anna", anna.token),
      basicAuth("anna", anna.password),
      "token ' or 1=1 --",
      `token ${hashToken(anna.token)}`,
    ]) {
      const expected = [403, "auth.token_invalid"];
      expect(codeOf(await me(authorization)), authorization).to.deep.equal(expected);
    }
    expect(
      (await app.get(`/user/me?token=${anna.token}&access_token=${anna.token}`)).status,
    ).to.equal(403);
  });

  it("is valid to the end of the given time and not after", async () => {
    const soon = new Date(Date.now() + 60_000);
    const past = new Date(Date.now() - 1);
    const valid = await app.givenToken(anna.id, ["USER_READ"], soon.toISOString());
    const over = await app.givenToken(anna.id, ["USER_READ"], past.toISOString());
    expect((await me(`token ${valid}`)).status).to.equal(200);
    expect(codeOf(await me(`token ${over}`))).to.deep.equal([403, "auth.token_invalid"]);
  });

  it("is dead once revoked", async () => {
    const token = await app.givenToken(anna.id, ["USER_READ"]);
    const row = await findTokenCaller(db, hashToken(token));
    const command = {
      type: "RevokeAccessToken",
      tokenId: AccessTokenId.parse(row!.token_id),
      by: anna.id,
      at: new Date().toISOString(),
    } as const;
    const order = { id: anna.id, command, metadata: metadataFor(randomUUID()) };
    await app.deps.visible((await handle(store, accessToken, order)).position);
    expect(codeOf(await me(`token ${token}`))).to.deep.equal([403, "auth.token_invalid"]);
  });

  it("stops with its user's block, comes back with its end, and dies with the user", async () => {
    const nick = await app.givenUser("nick");
    const account = `/admin/user/${nick.id}/account`;
    expect((await app.post(`${account}/ban`, { token: admin.token })).status).to.equal(200);
    expect(codeOf(await me(`token ${nick.token}`))).to.deep.equal([403, "auth.token_invalid"]);
    expect((await createToken(basicAuth("nick", nick.password))).status).to.equal(403);

    expect((await app.post(`${account}/unban`, { token: admin.token })).status).to.equal(200);
    expect((await me(`token ${nick.token}`)).status).to.equal(200);

    const command = { type: "ForgetUser", at: new Date().toISOString() } as const;
    const order = { id: nick.id, command, metadata: metadataFor(randomUUID()) };
    await app.deps.visible((await handle(store, user, order)).position);
    expect(codeOf(await me(`token ${nick.token}`))).to.deep.equal([403, "auth.token_invalid"]);
    expect((await createToken(basicAuth("nick", nick.password))).status).to.equal(403);
  });

  it("lets nobody in by a header that a proxy would set", async () => {
    for (const name of ["x-forwarded-user", "x-webauth-user", "remote-user", "x-remote-user"]) {
      expect((await app.get("/user/me", { headers: { [name]: "root" } })).status).to.equal(403);
    }
  });
});

describe("Basic authentication", () => {
  const slow = ["slow-1", "slow-2", "slow-3", "slow-4"];

  it("makes tokens by alias, in any case, or e-mail", async () => {
    for (const login of ["anna", "ANNA", "anna@example.org", "Anna@Example.org"]) {
      const answer = await createToken(basicAuth(login, anna.password));
      expect(answer.status, login).to.equal(200);
      expect((await me(`token ${answer.body["token"]}`)).body).to.include({ username: "anna" });
    }
  });

  it("gives one answer to a wrong password, an unknown user and a token", async () => {
    const answers = [
      await createToken(basicAuth("anna", "wrong password")),
      await createToken(basicAuth("nobody", "wrong password")),
      await createToken(basicAuth("nobody@example.org", anna.password)),
      await createToken(basicAuth("anna", "")),
      await createToken(basicAuth("anna", anna.token)),
      await createToken(`token ${anna.token}`),
      await createToken(""),
    ];
    const shapes = answers.map(({ status, body }) => {
      const { requestId: _, ...rest } = body;
      return JSON.stringify({ status, ...rest });
    });
    expect(new Set(shapes).size).to.equal(1);
    expect(codeOf(answers[0]!)).to.deep.equal([403, "auth.credentials_invalid"]);
  });

  it("turns callers away when too many wait for a hash", async () => {
    // Hashes that take a sixth of the work that the service's own take.
    const hash = `scrypt$16384$8$1$${"A".repeat(22)}$${"A".repeat(43)}`;
    for (const name of slow) {
      const { id } = await app.givenUser(name);
      await db("app_user").where({ id }).update({ password_hash: hash });
    }
    const tries = Array.from({ length: 28 }, (_, n) =>
      createToken(basicAuth(slow[n % slow.length] ?? "", "wrong password")),
    );
    const others = await me(`token ${anna.token}`);
    expect(others.status).to.equal(200);
    const statuses = (await Promise.all(tries)).map(({ status }) => status);
    expect(statuses).to.include(503);
    // Sixteen of one network wait at a time; places that fall free while they come are taken again.
    expect(statuses.filter((status) => status === 403)).to.have.length.within(8, 24);
  });
});

describe("git's credentials", () => {
  const { client } = authenticate(app.deps);
  const socket = { remoteAddress: "127.0.0.1" };
  const authenticateBy = (login: string, secret: string) =>
    client({ req: { socket } } as Context, basicAuth(login, secret));

  it("are the account's password, or a token under any name", async () => {
    expect((await authenticateBy("anna", anna.password))?.userId).to.equal(anna.id);
    expect((await authenticateBy("oauth2", anna.token))?.userId).to.equal(anna.id);
    const readOnly = await app.givenToken(anna.id, ["PROJECT_READ"]);
    expect((await authenticateBy("x", readOnly))?.scopes).to.deep.equal(new Set(["PROJECT_READ"]));
  });

  it("are nothing else", async () => {
    expect(await authenticateBy("anna", "wrong password")).to.equal(null);
    expect(await authenticateBy("anna", newToken("lfat"))).to.equal(null);
    expect(await authenticateBy("anna", "p".repeat(1000))).to.equal(null);
  });
});
