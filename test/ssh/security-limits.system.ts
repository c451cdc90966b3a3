import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { expect } from "chai";
import ssh2 from "ssh2";

import { type SshRoleOptions, startSsh } from "../../src/ssh/role.ts";
import type { SshServer } from "../../src/ssh/server.ts";
import { startTestApp } from "../support/app/app.ts";
import { eventually } from "../support/app/eventually.ts";
import {
  gitWithKey,
  keyPair,
  newKey,
  registerKey,
  ssh,
  sshOptions,
  sshRemote,
  startSshClient,
} from "../support/client/ssh.ts";
import { commit, temporaryDirectory, tryGit, workingCopy } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

const limits = { unauthenticatedMaxPerNetwork: 10, attemptsMax: 4, sessionsMax: 2 };
needsProgram("ssh", "ssh-keygen");
const closing: (() => Promise<void>)[] = [];
// Registered before the hooks of the app, whose stores the servers beside it need.
after(() => Promise.all(closing.map((close) => close())));
const app = await startTestApp({
  ssh: { limits, slots: { share: 2, whenFull: { refuseAfterMs: 500 } } },
});
/** A busy machine may need seconds to log in: only who is to be cut off meets a short limit. */
const shortMs = 1_500;
const stalling = await doorBeside({ limits: { authenticationMs: shortMs } });
const idling = await doorBeside({
  limits: { unusedMs: shortMs },
  channelLimits: { idleMs: shortMs, totalMs: 60_000 },
});
const parent = await temporaryDirectory();
const anna = await app.givenUser("anna");
const key = await newKey(parent, "anna");
await registerKey(app, anna, key);
await app.givenProject(anna, "project");
const options = sshOptions(key, app.sshPort);
const optionsOfIdle = sshOptions(key, idling.port);
const at = "git@127.0.0.1";
const remote = sshRemote("anna", "project");
const answers = async () =>
  (await tryGit(parent, ["ls-remote", remote], gitWithKey(key, app.sshPort))).exitCode === 0;

async function doorBeside(own: SshRoleOptions): Promise<SshServer> {
  const { url: publicUrl, dataDir, databaseUrl } = app;
  const config = { ...app.platform.config, publicUrl, dataDir, databaseUrl };
  const listening = { ...config, sshHost: "127.0.0.1", sshPort: 0 };
  const server = await startSsh({ ...app.platform, config: listening }, own);
  closing.push(server.close);
  return server;
}

async function raw(port = app.sshPort): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

const closed = (socket: Socket) =>
  eventually(() => socket.destroyed || socket.readableEnded, 60_000);

describe("security family 24: the connection limit of SSH", () => {
  it("closes a connection that sends much before it proves who it is", async () => {
    const socket = await raw();
    socket.resume().write("SSH-2.0-flood\r\n");
    // SSH_MSG_IGNORE with no data, and padding to 16 bytes.
    const ignored = Buffer.from("0000000c060200000000000000000000", "hex");
    const packets = Buffer.concat(Array.from({ length: 4_096 }, () => ignored));
    const next = () => Promise.race([once(socket, "drain"), once(socket, "close")]);
    let sent = 0;
    for (; sent < 512 && !socket.destroyed; sent += 1) {
      if (!socket.write(packets)) await next().catch(() => undefined);
    }
    await closed(socket);
    expect(sent).to.be.below(512);
    expect(await answers()).to.equal(true);
  });

  it("closes handshakes that stall, wherever they do", async () => {
    const silent = await raw(stalling.port);
    const dripping = await raw(stalling.port);
    const half = await raw(stalling.port);
    const noise = await raw(stalling.port);
    for (const socket of [silent, dripping, half, noise]) socket.resume();
    half.write("SSH-2.0-x\r\n");
    noise.write(Buffer.alloc(64 * 1024, 0x41));
    const drip = setInterval(() => dripping.writable && dripping.write("S"), 200);
    for (const socket of [silent, dripping, half, noise]) await closed(socket);
    clearInterval(drip);
  });

  it("counts connections that are not authenticated, and admits others when they left", async () => {
    const sockets = await Promise.all(Array.from({ length: 40 }, () => raw()));
    for (const socket of sockets) socket.resume();
    await eventually(() => sockets.filter((socket) => socket.readableEnded).length >= 30);
    expect(await answers()).to.equal(false);
    for (const socket of sockets) socket.destroy();
    await eventually(answers);
  });

  it("ends who tries keys one after another", async () => {
    const client = new ssh2.Client();
    let attempts = 0;
    const wrong = keyPair().private;
    client.connect({
      host: "127.0.0.1",
      port: app.sshPort,
      username: "git",
      authHandler: (_left, _partial, next) => {
        attempts += 1;
        next({ type: "publickey", username: "git", key: wrong });
      },
    });
    client.on("error", () => undefined);
    await once(client, "close");
    expect(attempts).to.be.within(2, limits.attemptsMax);
  });

  it("closes a connection without requests, and one on which nothing moves", async () => {
    const idle = new ssh2.Client();
    const privateKey = await readFile(key);
    idle.on("error", () => undefined);
    idle.connect({ host: "127.0.0.1", port: idling.port, username: "git", privateKey });
    const gone = once(idle, "close");
    await once(idle, "ready");
    await gone;

    const command = "git-receive-pack 'anna/project.git'";
    const stalled = startSshClient([...optionsOfIdle, at, command]);
    stalled.stdout?.resume();
    await once(stalled, "close");
    expect(stalled.exitCode).to.equal(255);
    expect(await answers()).to.equal(true);
  });

  it("bounds the channels of a connection and the commands of a user", async () => {
    const client = new ssh2.Client();
    const privateKey = await readFile(key);
    client.on("error", () => undefined);
    client.connect({ host: "127.0.0.1", port: app.sshPort, username: "git", privateKey });
    await once(client, "ready");
    const run = () =>
      new Promise<string>((resolve) =>
        // A push takes its slot when its commands have come, a fetch at once.
        client.exec("git-upload-pack 'anna/project.git'", (error) =>
          resolve(error === undefined ? "open" : "refused"),
        ),
      );
    expect(await Promise.all([run(), run(), run()])).to.have.members(["open", "open", "refused"]);
    const third = await ssh([...options, at, "git-upload-pack 'anna/project.git'"]);
    expect(third.stderr).to.contain("Too many fetches and pushes");
    client.end();
    await eventually(answers);
  });
});

describe("security family 24: a client that does not read", () => {
  it("makes the service hold a bounded part of its answer, however wide its window", async () => {
    const copy = await workingCopy(parent, "copy");
    await commit(copy, "Large", { "large.bin": randomBytes(48 * 1024 ** 2) });
    // By HTTP: a line this impatient would not wait until so much is on disk.
    const url = `${app.url.replace("//", `//anna:${anna.token}@`)}/project/anna/project.git`;
    const pushed = await tryGit(copy, ["push", "-q", url, "main"]);
    expect(pushed.exitCode, pushed.stderr).to.equal(0);

    const before = process.memoryUsage();
    const children = Array.from({ length: 2 }, () =>
      startSshClient([...optionsOfIdle, at, "git-upload-pack 'anna/project.git'"]),
    );
    const { stdout } = await tryGit(copy, ["rev-parse", "HEAD"]);
    const want = `0032want ${stdout}\n00000009done\n`;
    for (const child of children) child.stdin?.write(want);
    let held = 0;
    // Until it is cut: what is held then is the most there was.
    while (children.some((child) => child.exitCode === null)) {
      const { arrayBuffers } = process.memoryUsage();
      held = Math.max(held, arrayBuffers - before.arrayBuffers);
      await new Promise((next) => setTimeout(next, 100));
    }
    expect(held).to.be.below(32 * 1024 ** 2);
    expect(await answers()).to.equal(true);
  });

  it("is cut when it requests packets of a byte, before they are made", async () => {
    const client = new ssh2.Client();
    const privateKey = await readFile(key);
    client.on("error", () => undefined);
    client.connect({ host: "127.0.0.1", port: app.sshPort, username: "git", privateKey });
    await once(client, "ready");
    // The library requests 32 KiB; what it writes is changed on its way.
    const protocol = (client as unknown as { _protocol: { session: (...args: number[]) => void } })
      ._protocol;
    const session = protocol.session.bind(protocol);
    protocol.session = (channel: number, window: number) => session(channel, window, 0);
    const gone = once(client, "close");
    client.exec("git-upload-pack 'anna/project.git'", () => undefined);
    await gone;
    expect(await answers()).to.equal(true);
  });
});
