import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import { expect } from "chai";
import ssh2, { type ClientChannel } from "ssh2";

import { parseSshCommand } from "../../src/ssh/command.ts";
import { startTestApp } from "../support/app/app.ts";
import { eventually } from "../support/app/eventually.ts";
import { refusedCommands } from "../support/client/refused-command.ts";
import { newKey, registerKey, ssh, sshOptions } from "../support/client/ssh.ts";
import { temporaryDirectory } from "../support/git/git.ts";
import { processes } from "../support/process/process.ts";
import { needsProgram } from "../support/process/program.ts";

needsProgram("ssh", "ssh-keygen");
const app = await startTestApp({ ssh: {} });
const parent = await temporaryDirectory();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const key = await newKey(parent, "anna");
await registerKey(app, anna, key);
await app.givenProject(anna, "search");
await app.givenProject(bob, "foreign");
const options = sshOptions(key, app.sshPort);
const at = "git@127.0.0.1";
const canary = path.join(parent, "canary");

const refusedTexts = refusedCommands(canary);

describe("security family 6: the command over SSH", () => {
  for (const text of refusedTexts) {
    it(`${JSON.stringify(text).slice(0, 70)} is no command`, () => {
      expect(parseSshCommand(text)).to.equal(undefined);
    });
  }

  it("is refused to the real ssh with a reason, and nothing runs", async () => {
    for (const text of refusedTexts.filter((each) => each.includes("&&") || each === "sh")) {
      const { exitCode, stdout, stderr } = await ssh([...options, at, text]);
      expect(exitCode, text).to.equal(128);
      expect(stdout, text).to.equal("");
      expect(stderr, text).to.contain("only git's commands");
    }
    expect(await readdir(parent)).not.to.include("canary");
  });

  it("for a foreign project is refused before anything is answered, LFS as well", async () => {
    for (const text of [
      "git-upload-pack 'bob/foreign.git'",
      "git-receive-pack 'bob/foreign.git'",
      "git-upload-archive 'bob/foreign.git'",
      "git-lfs-authenticate bob/foreign.git download",
      "git-lfs-authenticate bob/foreign.git upload",
    ]) {
      const { exitCode, stdout, stderr } = await ssh([...options, at, text]);
      expect(exitCode, text).to.equal(128);
      expect(stdout, text).to.equal("");
      expect(stderr, text).to.match(/This needs the role (?:GUEST|DEVELOPER)/);
    }
  });

  it("requests from LFS what the role allows, project and operation bound", async () => {
    const { stdout } = await ssh([...options, at, "git-lfs-authenticate anna/search.git upload"]);
    const answer = JSON.parse(stdout) as {
      href: string;
      header: { Authorization: string };
      expires_in: number;
    };
    expect(answer.href).to.equal(`${app.url}/project/anna/search.git/info/lfs`);
    expect(answer.header.Authorization).to.match(/^Bearer lflt_/);
    expect(answer.expires_in).to.be.within(60, 3_600);
  });
});

describe("security family 6: what else SSH offers", () => {
  it("gives no terminal, no subsystem and no variables but git's protocol", async () => {
    const command = "git-upload-pack 'anna/search.git'";
    const pty = await ssh([...options, "-tt", at, command], "0000");
    expect(pty.stderr).to.match(/PTY allocation request failed/);
    const sftp = await ssh([...options, "-s", at, "sftp"]);
    expect(sftp.stderr).to.match(/subsystem request failed/);

    for (const [name, value] of [
      ["LD_PRELOAD", "/tmp/x.so"],
      ["GIT_SSH_COMMAND", "x"],
      ["GIT_CONFIG_COUNT", "0"],
      ["GIT_EXTERNAL_DIFF", "x"],
      ["PATH", "/tmp"],
      ["GIT_PROTOCOL", "version=2 --x"],
      ["GIT_PROTOCOL", "x".repeat(100)],
      ["GIT_PROTOCOL", "version=2\nX=1"],
    ] as const) {
      expect(await accepts(name, value), `${name}=${value}`).to.equal(false);
    }
    expect(await accepts("GIT_PROTOCOL", "version=2")).to.equal(true);
  });

  it("forwards nothing: no ports here, no ports there, no sockets, no agent, no X11", async () => {
    let reached = 0;
    const target = createServer(() => {
      reached += 1;
    }).listen(0, "127.0.0.1");
    await once(target, "listening");
    const { port } = target.address() as AddressInfo;

    const stdio = await ssh([...options, "-W", `127.0.0.1:${port}`, at]);
    expect(stdio.exitCode).to.equal(255);
    expect(stdio.stderr).to.match(/stdio forwarding failed|administratively prohibited/);
    // The agent is requested on the command's channel, which goes on without it.
    const agent = await ssh([...options, "-v", "-A", "-o", "LogLevel=DEBUG1", "-T", at]);
    expect(agent.stderr).not.to.match(/agent request ok|Agent forwarding enabled/i);
    const remote = ["-o", "ExitOnForwardFailure=yes", "-N", "-R", "0:127.0.0.1:1"];
    expect((await ssh([...options, ...remote, at])).exitCode).to.equal(255);
    const socket = ["-o", "ExitOnForwardFailure=yes", "-N", "-R", `${parent}/s:127.0.0.1:1`];
    expect((await ssh([...options, ...socket, at])).exitCode).to.equal(255);

    await withClient(async (client) => {
      const direct = await new Promise((resolve) =>
        client.openssh_forwardOutStreamLocal(`${parent}/x`, (error) => resolve(error)),
      );
      expect(direct).to.be.instanceOf(Error);
      const x11 = await new Promise((resolve) =>
        client.exec("git-upload-pack 'anna/search.git'", { x11: true }, (error) => resolve(error)),
      );
      expect(x11).to.be.instanceOf(Error);
    });
    target.close();
    expect(reached).to.equal(0);
  });

  it("runs one command a channel, and its programs see none of our variables", async () => {
    await withClient(async (client) => {
      const channel = await new Promise<ClientChannel>((resolve, reject) =>
        client.exec("git-upload-pack 'anna/search.git'", (error, opened) =>
          error ? reject(error) : resolve(opened),
        ),
      );
      let output = "";
      channel.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
      await eventually(() => output.endsWith("0000"));
      const running = await processEnvironments("upload-pack");
      expect(running.length).to.be.greaterThan(0);
      for (const environment of running) {
        expect(environment).not.to.match(/SECRET_KEY|DATABASE_URL|ADMIN_PASSWORD/);
        expect(environment).to.contain("HOME=/nonexistent");
      }
      channel.end();
      await once(channel, "close");
    });
  });
});

async function withClient(run: (client: InstanceType<typeof ssh2.Client>) => Promise<void>) {
  const client = new ssh2.Client();
  const privateKey = await readFile(key);
  client.connect({ host: "127.0.0.1", port: app.sshPort, username: "git", privateKey });
  await once(client, "ready");
  try {
    await run(client);
  } finally {
    client.end();
  }
}

/** Whether the variable was taken, as the server says itself. */
async function accepts(name: string, value: string): Promise<boolean> {
  let taken = false;
  await withClient(async (client) => {
    const channel = await new Promise<ClientChannel>((resolve, reject) =>
      client.exec(
        "git-upload-pack 'anna/search.git'",
        { env: { [name]: value } },
        (error, opened) => (error ? reject(error) : resolve(opened)),
      ),
    );
    let output = "";
    channel.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    await eventually(() => output.includes("0000"));
    taken = output.includes("version 2");
    channel.end("0000");
    await once(channel, "close");
  });
  return taken;
}

/** Environments of the git programs that this process started. */
async function processEnvironments(program: string): Promise<readonly string[]> {
  const pids = (await processes())
    .filter(({ parent }) => parent === process.pid)
    .filter(({ command }) => command.split(/\s+/).includes(program))
    .map(({ pid }) => pid);
  const found = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")),
  );
  // One that is about to end has none any more.
  return found.filter((text) => text !== "").map((text) => text.replaceAll("\0", "\n"));
}
