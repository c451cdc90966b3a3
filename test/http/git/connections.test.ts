import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, Socket } from "node:net";
import path from "node:path";
import { expect } from "chai";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { basicAuth } from "../../support/app/basic-auth.ts";
import { eventually } from "../../support/app/eventually.ts";
import {
  commit,
  fetchRequest,
  git,
  temporaryDirectory,
  workingCopy,
} from "../../support/git/git.ts";
import { spawnedWhile } from "../../support/process/spawned.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const parent = await temporaryDirectory();

let counter = 0;
let anna: TestUser;
beforeEach(async () => {
  counter += 1;
  anna = await app.givenUser(`anna-${counter}`);
  await app.givenProject(anna, "project");
});

const remote = ({ alias }: TestUser, secret: string) => {
  const url = new URL(`/project/${alias}/project.git`, app.url);
  [url.username, url.password] = [alias, encodeURIComponent(secret)];
  return url.href;
};

/** A push whose pack never ends: the request stays open until the server cuts it. */
const openPush = (user: TestUser, secret: string): Promise<Socket> =>
  ask(user, secret, "receive-pack", 1_000_000);

/** @param length of the body, which the caller is to send */
async function ask(
  user: TestUser,
  secret: string,
  service: string,
  length: number,
): Promise<Socket> {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  const credentials = Buffer.from(`${user.alias}:${secret}`).toString("base64");
  socket.write(
    [
      `POST /project/${user.alias}/project.git/git-${service} HTTP/1.1`,
      "Host: localhost",
      `Authorization: Basic ${credentials}`,
      `Content-Type: application/x-git-${service}-request`,
      "Git-Protocol: version=2",
      `Content-Length: ${length}`,
      "",
      "",
    ].join("\r\n"),
  );
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

const closed = (socket: Socket, limitMs = 30_000) =>
  eventually(() => socket.destroyed || socket.readableEnded, limitMs);

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
    const copy = await workingCopy(parent, `copy-${counter}`);
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

  it("is cut when they are blocked while they read a pack that is kept for many", async () => {
    const copy = await workingCopy(parent, `copy-${counter}`);
    const head = await commit(copy, "First", { "large.bin": randomBytes(24_000_000) });
    await git(copy, "push", "--quiet", remote(anna, anna.token), "main");
    const request = fetchRequest(head);
    const read = async (): Promise<Socket> => {
      const socket = await ask(anna, anna.token, "upload-pack", request.length);
      socket.write(request);
      await once(socket, "readable");
      return socket;
    };
    for (let round = 0; round < 2; round += 1) {
      const socket = await read();
      let end = "";
      socket.on("data", (chunk: Buffer) => {
        end = `${end}${chunk.subarray(-5).toString("latin1")}`.slice(-5);
      });
      // To its last chunk: a pack that was not read to its end is not kept.
      await eventually(() => end === "0\r\n\r\n", 60_000);
      socket.destroy();
    }
    // It reads no more than the beginning.
    let reading = new Socket();
    const started = await spawnedWhile(async () => {
      reading = await read();
    });
    const packing = started.filter((line) => /upload-pack|pack-objects/.test(line));
    expect(packing, "programs of git").to.deep.equal([]);
    expect(
      (await app.post(`/admin/user/${anna.id}/account/ban`, { token: root.token })).status,
    ).to.equal(200);
    let bytes = 0;
    reading.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    await closed(reading);
    expect(bytes).to.be.lessThan(24_000_000);
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
