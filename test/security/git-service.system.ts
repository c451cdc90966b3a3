import { expect } from "chai";
import { flushPacket, packet } from "../../src/git/pkt-line.ts";
import { startTestApp } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import {
  gitWithKey,
  newKey,
  registerKey,
  ssh,
  sshOptions,
  sshRemote,
} from "../support/client/ssh.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

needsProgram("ssh", "ssh-keygen");
const app = await startTestApp({ ssh: {} });
const parent = await temporaryDirectory();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
await app.givenProject(anna, "open", { private: false });
const [annasKey, bobsKey] = [await newKey(parent, "anna"), await newKey(parent, "bob")];
await registerKey(app, anna, annasKey);
await registerKey(app, bob, bobsKey);
const copy = await workingCopy(parent, "copy");
const overHttp = `${app.url.replace("//", `//anna:${anna.token}@`)}/project/anna/open.git`;
let head = "";
before(async () => {
  head = await commit(copy, "One", { "a.txt": "a\n" });
  await git(copy, "push", "-q", overHttp, "main");
});

const refs = () => git(parent, "ls-remote", overHttp);
const zero = "0".repeat(40);
/** Makes a branch of what is there already: no pack is needed. */
const commands = () =>
  Buffer.concat([
    packet(`${zero} ${head} refs/heads/smuggled\0report-status\n`),
    flushPacket,
    Buffer.from(
      "PACK\0\0\0\u0002\0\0\0\0\u0002\u009d\b\u0082;\u00d8\u00a8\u00ea\u00b5\u0010\u00adj\u00c7\\\u0082<\u00fd>\u00d3\u001e",
      "latin1",
    ),
  ]);

describe("security family 7: the requested service", () => {
  const [up, down] = ["git-receive-pack", "git-upload-pack"];
  const type = (service: string) => `application/x-${service}-request`;

  for (const [what, at, content] of [
    ["a push to the path of fetches", down, type(down)],
    ["a push named as a fetch by its type", up, type(down)],
    ["a push named as a fetch by its query", `${up}?service=${down}`, type(up)],
    ["a fetch named as a push by its query", `${down}?service=${up}`, type(down)],
    ["a push with both in the query", `${up}?service=${up}&service=${down}`, type(up)],
    ["a push below a fetch", `${down}/../${up}`, type(down)],
    ["an encoded push", "git%2Dreceive%2Dpack", type(down)],
    ["a push itself", up, type(up)],
  ] as const) {
    it(`of a reader changes nothing: ${what}`, async () => {
      const before = await refs();
      const answer = await fetch(`${app.url}/project/anna/open.git/${at}`, {
        method: "POST",
        headers: {
          "content-type": content,
          authorization: basicAuth("bob", bob.token),
        },
        body: new Uint8Array(commands()),
      });
      await answer.arrayBuffer();
      expect(answer.status).to.be.below(500);
      expect(await refs()).to.equal(before);
    });
  }

  it("over SSH is what the command says, whatever is sent on it", async () => {
    const before = await refs();
    const options = [...sshOptions(bobsKey, app.sshPort), "git@127.0.0.1"];
    const text = commands().toString("latin1");
    await ssh([...options, "git-upload-pack 'anna/open.git'"], text);
    const refused = await ssh([...options, "git-receive-pack 'anna/open.git'"], text);
    expect(refused.stdout).to.equal("");
    await ssh([...options, "git-upload-archive 'anna/open.git'"], text);
    expect(await refs()).to.equal(before);
  });
});

describe("security family 7: pushes of allowed and protected refs together", () => {
  before(async () => {
    const body = {
      branchTemplate: "kept-*",
      allowedToPush: "NO_ONE",
      allowedToMerge: "NO_ONE",
      allowForcePush: false,
    };
    const rule = await app.post("/project/anna/open/branch-protection/create", {
      token: anna.token,
      body,
    });
    expect(rule.status, rule.text).to.be.below(300);
  });

  const ways = {
    HTTP: [overHttp, {}],
    SSH: [sshRemote("anna", "open"), gitWithKey(annasKey, app.sshPort)],
  } as const;
  for (const [way, [remote, environment]] of Object.entries(ways)) {
    for (const order of [
      ["kept-1", "free-1"],
      ["free-2", "kept-2"],
      ["free-3", "kept-3", "free-4"],
    ]) {
      it(`over ${way} change the allowed ones alone: ${order.join(", ")}`, async () => {
        const names = order.map((name) => `${name}-${way.toLowerCase()}`);
        const wanted = names.map((name) => `HEAD:refs/heads/${name}`);
        const pushed = await tryGit(copy, ["push", remote, ...wanted], environment);
        expect(pushed.exitCode).not.to.equal(0);
        const now = await refs();
        for (const name of names) {
          expect(now.includes(`refs/heads/${name}`), name).to.equal(name.startsWith("free"));
        }
      });
    }

    it(`over ${way} change nothing when they are atomic`, async () => {
      const before = await refs();
      const wanted = ["HEAD:refs/heads/free-a", "HEAD:refs/heads/kept-a"];
      const pushed = await tryGit(copy, ["push", "--atomic", remote, ...wanted], environment);
      expect(pushed.exitCode).not.to.equal(0);
      expect(await refs()).to.equal(before);
    });
  }

  it("are no way around it by another spelling of the ref", async () => {
    for (const name of [
      "refs/heads/./kept-x",
      "refs//heads/kept-x",
      "refs/heads/../heads/kept-x",
    ]) {
      const before = await refs();
      await tryGit(copy, ["push", overHttp, `HEAD:${name}`]);
      expect(await refs(), name).to.equal(before);
    }
  });
});
