import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect } from "chai";
import { flushPacket, packet } from "../../../src/git/pkt-line.ts";
import { asCaller } from "../../../src/platform/caller.ts";
import { Limit } from "../../../src/platform/limit.ts";
import { neighbourhoodOf } from "../../../src/platform/network.ts";
import { eventually } from "../../support/app/eventually.ts";
import { startGitApp, type TestProject, type TestUser } from "../../support/app/git-app.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../support/git/git.ts";
import { processes } from "../../support/process/process.ts";

/** What all callers use together has a share for each, and is not held by one who sends or reads nothing. */

const slow = { bytesMin: 4_096, withinMs: 2_500 };
const slots = { total: 2, share: 2 };
const app = await startGitApp({ slots, limits: { slow, idleMs: 10_000 } });
const parent = await temporaryDirectory();
let anna: TestUser;
let project: TestProject;
let copy: string;
let head: string;
const opened: Socket[] = [];

before(async () => {
  anna = await app.user("anna");
  project = await app.project(anna, "open", false);
  copy = await workingCopy(parent, "copy");
  head = await commit(copy, "One", { "a.txt": "a\n" });
  await git(copy, "push", "--quiet", app.remote(project, anna), "main");
});
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

/** A request that says it has more body than it sends. */
async function open(service: string, body: string, token = ""): Promise<Socket> {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  opened.push(socket);
  socket.on("error", () => undefined);
  const credentials = Buffer.from(`anna:${token}`).toString("base64");
  const lines = [
    `POST ${project.path}.git/git-${service} HTTP/1.1`,
    "Host: localhost",
    ...(token === "" ? [] : [`Authorization: Basic ${credentials}`]),
    `Content-Type: application/x-git-${service}-request`,
    "Content-Length: 1000000",
  ];
  await once(socket, "connect");
  socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  return socket;
}

const packPrograms = async () =>
  (await processes()).filter(
    ({ parent: of, command }) => of === process.pid && /(?:upload|receive)-pack/.test(command),
  );
const gone = (socket: Socket) => eventually(() => socket.destroyed || socket.closed);

describe("security class S4: the slots of git over HTTP", () => {
  it("are not held by requests whose body does not come", async () => {
    for (let n = 0; n < 4; n += 1) {
      await open("upload-pack", packet(`want ${head}\n`).toString());
      await open("receive-pack", "00", anna.token);
    }
    await eventually(async () => (await packPrograms()).length === 0);
    const listed = await tryGit(parent, ["ls-remote", app.remote(project, anna), "main"]);
    expect(listed.stdout).to.contain(head);
    const clone = ["clone", "-q", "-c", "protocol.version=0", app.remote(project, anna), "clone"];
    expect((await tryGit(parent, clone)).exitCode).to.equal(0);
  });

  it("are given back by a push whose pack comes too slowly", async () => {
    const large = await commit(copy, "Random", { "random.bin": randomBytes(100_000) });
    const pack = execFileSync("git", ["pack-objects", "--revs", "--stdout", "-q"], {
      ...{ cwd: copy, input: `${large}\n^${head}\n` },
    });
    const command = packet(`${"0".repeat(40)} ${large} refs/heads/x\0report-status`);
    const begun = performance.now();
    const pushes = [
      await open("receive-pack", `${command}${flushPacket}`, anna.token),
      await open("receive-pack", `${command}${flushPacket}`, anna.token),
    ];
    // A good pack, of which a byte comes now and then: far fewer than a slow line brings.
    let sent = 0;
    const dripping = setInterval(() => {
      for (const push of pushes) if (push.writable) push.write(pack.subarray(sent, sent + 1));
      sent += 1;
    }, 50);
    try {
      await Promise.all(pushes.map(gone));
    } finally {
      clearInterval(dripping);
    }
    // Had they been refused there would have been no waiting.
    expect(performance.now() - begun).to.be.greaterThan(1_000);
    await eventually(async () => (await packPrograms()).length === 0);
    const listed = await tryGit(parent, ["ls-remote", app.remote(project, anna), "main"]);
    expect(listed.stdout).to.contain(head);
  });

  it("are counted together for a network of callers who are not known", () => {
    expect(neighbourhoodOf("203.0.113.7")).to.equal("203.0.113.0/24");
    expect(neighbourhoodOf("::ffff:203.0.113.200")).to.equal("203.0.113.0/24");
    const addresses = ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9"];
    expect(new Set(addresses.map(neighbourhoodOf)).size).to.equal(1);
    expect(neighbourhoodOf("2001:db8:1:3::1")).not.to.equal(neighbourhoodOf("2001:db8:1:2::1"));
    expect(neighbourhoodOf("nothing")).to.equal("unknown");
  });
});

describe("security class S4: downloads of one account", () => {
  it("leave some for the others, and end when they are not read", async () => {
    const repository = await app.git.find(project.id);
    const large = await commit(copy, "Large", { "large.txt": "x".repeat(4_000_000) });
    await git(copy, "push", "--quiet", app.remote(project, anna), "main");
    const id = await git(copy, "rev-parse", `${large}:large.txt`);
    const stream = (caller: string) => asCaller(caller, () => repository!.blobStream(id));
    const unread = Array.from({ length: 8 }, () => stream("anna"));
    expect(() => stream("anna")).to.throw("Too many downloads");
    const other = stream("boris");
    for (const each of [...unread, other]) each.destroy();
    await eventually(() => {
      const again = stream("anna");
      again.destroy();
      return true;
    });
  });
});

describe("security class S4: a limit", () => {
  it("starts another caller's task before the first caller's queue is empty", async () => {
    const limit = new Limit({ name: "test", total: 2, whenFull: "wait" });
    const order: string[] = [];
    const task = (caller: string) => () =>
      limit.run(async () => {
        await new Promise((resolve) => setImmediate(resolve));
        order.push(caller);
      });
    const many = Array.from({ length: 20 }, () => asCaller("anna", task("anna")));
    const one = asCaller("boris", task("boris"));
    await one;
    expect(order.filter((caller) => caller === "anna").length).to.be.below(3);
    await Promise.all(many);
    expect(order).to.have.length(21);
  });

  it("lets work of the service itself have all slots, and goes on after failures", async () => {
    const limit = new Limit({ name: "test", total: 2, whenFull: "wait" });
    let running = 0;
    let most = 0;
    const task = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      throw new Error("failed");
    };
    await Promise.allSettled(Array.from({ length: 6 }, () => limit.run(task)));
    expect([running, most]).to.deep.equal([0, 2]);
    await Promise.allSettled(
      Array.from({ length: 6 }, () => asCaller("anna", () => limit.run(task))),
    );
    expect(await limit.run(async () => "done")).to.equal("done");
  });
});
