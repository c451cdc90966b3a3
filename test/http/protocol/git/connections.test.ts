import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import path from "node:path";
import { expect } from "chai";
import type { TestUser } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { connectionWorld } from "../../../support/git/connection-world.ts";
import { commit, git, workingCopy } from "../../../support/git/git.ts";

const { app, root, parent, given, remote, openPush, closed } = await connectionWorld();
let anna: TestUser;
beforeEach(() => {
  anna = given();
});

/** Open for longer than a cut takes to come. */
async function staysOpen(socket: Socket): Promise<boolean> {
  const cut = closed(socket, 3_000).then(
    () => "cut",
    () => "open",
  );
  return (await cut) === "open";
}

/** Until the service has taken the caller for who they are. */
const noted = (user: TestUser) =>
  eventually(async () => {
    const { body } = await app.get("/user/settings/access-token", { token: user.token });
    const { accessTokenList } = body["_embedded"] as {
      accessTokenList: { lastUsedAt: string | null }[];
    };
    return accessTokenList.some(({ lastUsedAt }) => lastUsedAt !== null);
  });

describe("what a user is doing with git", () => {
  it("is cut when they are blocked", async () => {
    const sockets = [await openPush(anna, anna.token), await openPush(anna, anna.password)];
    const copy = await workingCopy(parent, anna.alias);
    await commit(copy, "First", { "a.txt": "a\n" });
    await git(copy, "push", "--quiet", remote(anna, anna.token), "main");
    for (const socket of sockets) socket.resume();
    const ban = `/admin/user/${anna.id}/account/ban`;
    expect((await app.post(ban, { token: root.token })).status).to.equal(200);
    for (const socket of sockets) await closed(socket);
    const again = spawn("git", ["ls-remote", remote(anna, anna.token)], {
      cwd: path.resolve(parent),
      env: { ...process.env, GIT_TERMINAL_PROMPT: "0" },
      stdio: "ignore",
    });
    const [code] = await once(again, "exit");
    expect(code).not.to.equal(0);
  });

  it("is cut when the token they do it by is revoked, and no other", async () => {
    const { body } = await app.post("/user/settings/access-token/create", {
      headers: {
        authorization: basicAuth(anna.alias, anna.password),
      },
      body: { name: "ci", scopes: ["PROJECT_WRITE"] },
    });
    const byToken = await openPush(anna, String(body["token"]));
    const byOther = await openPush(anna, anna.token);
    for (const socket of [byToken, byOther]) socket.resume();
    await noted(anna);
    await app.delete("/user/settings/access-token/ci", { token: anna.token });
    await closed(byToken);
    expect(await staysOpen(byOther)).to.equal(true);
    byOther.destroy();
  });
});
