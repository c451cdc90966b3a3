import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { expect } from "chai";
import ssh2, { type ClientChannel } from "ssh2";

import type { EventMetadata } from "../../../src/events/core/event.ts";
import { projectStream } from "../../../src/events/project/project.ts";
import { packet } from "../../../src/git/pkt-line.ts";
import { fillFork } from "../../../src/services/project/fork.ts";
import { type Send, startTestApp, type TestProject, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { keyPair } from "../../support/client/ssh.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../support/git/git.ts";

/** A pack may arrive for hours. Rights and rules are checked again when the refs are about to move. */

const app = await startTestApp({ ssh: {} });
const parent = await temporaryDirectory();
const as = (user: TestUser, body?: unknown): Send => ({ token: user.token, body });
const none = "0".repeat(40);

let anna: TestUser;
let bob: TestUser;
let bobsKey = "";
let bobsKeyId = "";
let project: TestProject;
let copy: string;
let old: string;
let head: string;
let count = 0;

const at = (rest: string) => `/project/anna/${project.alias}${rest}`;
const remote = (user: TestUser) => {
  const url = new URL(`${at("")}.git`, app.url);
  Object.assign(url, { username: user.alias, password: user.token });
  return url.href;
};
const refs = async () =>
  (await git(copy, "ls-remote", remote(anna), "refs/heads/*")).split("\n").filter(Boolean);

before(async () => {
  anna = await app.givenUser("anna");
});
beforeEach(async () => {
  count += 1;
  bob = await app.givenUser(`bob-${count}`);
  const pair = keyPair();
  bobsKey = pair.private;
  const key = { publicKey: pair.public, title: "laptop" };
  const added = await app.post("/user/settings/add-ssh-key", as(bob, key));
  bobsKeyId = String(added.body["uuid"]);
  project = await app.givenProject(anna, `project-${count}`);
  const invited = { userAlias: bob.alias, role: "DEVELOPER" };
  expect((await app.post(at("/member/invite"), as(anna, invited))).status).to.equal(200);
  copy = await workingCopy(parent, `copy-${count}`);
  old = await commit(copy, "One", { "a.txt": "a\n" });
  await git(copy, "push", "--quiet", remote(anna), "main");
  head = await commit(copy, "Two", { "a.txt": "b\n", "deep/b.txt": "c\n" });
});

type Half = Readonly<{ finish: () => Promise<string> }>;
type Transport = (command: Buffer, pack: Buffer) => Promise<Half>;

/** A push of which the commands and half of the pack have arrived; `finish` sends the rest. */
async function halfPushed(transport: Transport, ref: string, before: string): Promise<Half> {
  const input = `${head}\n^${old}\n`;
  const pack = execFileSync("git", ["pack-objects", "--revs", "--stdout", "-q"], {
    ...{ cwd: copy, input },
  });
  const line = `${before} ${head} ${ref}\0report-status side-band-64k`;
  const half = await transport(Buffer.concat([packet(line), Buffer.from("0000")]), pack);
  const begun = () => app.deps.db("push_intent").where({ project_id: project.id }).first();
  await eventually(async () => (await begun()) !== undefined);
  return half;
}

const overHttp: Transport = async (command, pack) => {
  const sending: ClientRequest = request(`${app.url}${at(".git/git-receive-pack")}`, {
    method: "POST",
    auth: `${bob.alias}:${bob.token}`,
    headers: { "content-type": "application/x-git-receive-pack-request" },
  });
  sending.on("error", () => undefined);
  const answered = once(sending, "response") as Promise<[IncomingMessage]>;
  answered.catch(() => undefined);
  sending.write(Buffer.concat([command, pack.subarray(0, pack.length / 2)]));
  return {
    async finish() {
      sending.end(pack.subarray(pack.length / 2));
      try {
        const [answer] = await answered;
        return await text(answer);
      } catch (error) {
        return String(error);
      }
    },
  };
};

const overSsh: Transport = async (command, pack) => {
  const client = new ssh2.Client();
  client.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
  const to = { host: "127.0.0.1", port: app.sshPort, username: "git", privateKey: bobsKey };
  client.connect(to);
  await once(client, "ready");
  const channel = await new Promise<ClientChannel>((resolve, reject) =>
    client.exec(`git-receive-pack 'anna/${project.alias}.git'`, (error, opened) =>
      error === undefined ? resolve(opened) : reject(error),
    ),
  );
  const said = text(channel);
  // Nobody may be waiting yet when it is cut.
  said.catch(() => undefined);
  channel.on("error", () => undefined);
  channel.write(Buffer.concat([command, pack.subarray(0, pack.length / 2)]));
  return {
    async finish() {
      channel.end(pack.subarray(pack.length / 2));
      await Promise.race([once(channel, "close"), closed]);
      client.end();
      return await Promise.race([said, closed.then(() => "cut")]);
    },
  };
};

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  let all = "";
  for await (const chunk of stream) all += String(chunk);
  return all;
}

const isGone = "you may not push to this project any more";
const changes: readonly (readonly [string, () => Promise<unknown>, string])[] = [
  ["its author is removed", () => app.delete(at(`/member/${bob.alias}`), as(anna)), isGone],
  [
    "its author may only read",
    async () => {
      await app.delete(at(`/member/${bob.alias}`), as(anna));
      const body = { userAlias: bob.alias, role: "REPORTER" };
      await app.post(at("/member/invite"), as(anna, body));
    },
    isGone,
  ],
  ["the project is deleted", () => app.delete(`/project/${project.id}/delete`, as(anna)), isGone],
  [
    "a rule is added",
    () => {
      const body = { branchTemplate: "new", allowedToPush: "ADMINS" };
      return app.post(at("/branch-protection/create"), as(anna, body));
    },
    "refs/heads/new: protected branch",
  ],
  [
    "a file is locked",
    () => {
      const auth = Buffer.from(`anna:${anna.token}`).toString("base64");
      return fetch(`${app.url}${at(".git/info/lfs/locks")}`, {
        method: "POST",
        headers: {
          authorization: `Basic ${auth}`,
          "content-type": "application/vnd.git-lfs+json",
          accept: "application/vnd.git-lfs+json",
        },
        body: JSON.stringify({ path: "deep/b.txt" }),
      });
    },
    "deep/b.txt is locked by anna",
  ],
];

for (const [way, transport] of [
  ["HTTP", overHttp],
  ["SSH", overSsh],
] as const) {
  describe(`security class S3: a push over ${way}`, () => {
    for (const [what, change, why] of changes) {
      it(`changes nothing when ${what} while its pack arrives`, async () => {
        const half = await halfPushed(transport, "refs/heads/new", none);
        await change();
        expect(await half.finish()).to.contain(why);
        const repository = await app.platform.git.find(project.id);
        expect([...(await repository!.refs()).keys()]).to.deep.equal(["refs/heads/main"]);
      });
    }

    it("has to be sent again when a rule against lost commits is added meanwhile", async () => {
      const half = await halfPushed(transport, "refs/heads/main", old);
      const rule = { branchTemplate: "main", allowedToPush: "DEVELOPER", allowForcePush: false };
      const made = await app.post(at("/branch-protection/create"), as(anna, rule));
      expect(made.status, made.text).to.equal(200);
      expect(await half.finish()).to.contain("push again");
      expect((await refs())[0]).to.contain(old);
      expect((await tryGit(copy, ["push", remote(bob), "main"])).exitCode).to.equal(0);
    });

    it("goes through when nothing of this happens", async () => {
      const half = await halfPushed(transport, "refs/heads/new", none);
      expect(await half.finish()).to.contain("ok refs/heads/new");
    });
  });
}

describe("security class S3: a key that is deleted while a pack arrives", () => {
  it("changes nothing any more", async () => {
    const half = await halfPushed(overSsh, "refs/heads/new", none);
    await app.delete(`/user/settings/ssh-key/${bobsKeyId}`, as(bob));
    await half.finish();
    expect(await refs()).to.have.length(1);
  });
});

describe("security class S3: a push without objects", () => {
  it("deletes a branch as before", async () => {
    await git(copy, "push", "--quiet", remote(bob), "main:refs/heads/short");
    await git(copy, "push", "--quiet", remote(bob), ":refs/heads/short");
    expect(await refs()).to.have.length(1);
  });
});

describe("security class S3: a fork that a worker fills a minute later", () => {
  type Change = Readonly<{ what: string; forkIsPrivate: boolean; change: () => Promise<unknown> }>;
  const changes: readonly Change[] = [
    { what: "is private by then", forkIsPrivate: false, change: () => visibility(true) },
    { what: "is hidden from whoever forked", forkIsPrivate: true, change: () => visibility(true) },
    {
      what: "is deleted by then",
      forkIsPrivate: false,
      change: () => app.delete(`/project/${project.id}/delete`, as(anna)),
    },
  ];
  const visibility = (isPrivate: boolean) =>
    app.put(at("/setting/visibility"), as(anna, { isPrivate }));

  /** Made while the source has no commits, and so not filled at once. */
  async function forkOfEmpty(user: TestUser, isPrivate: boolean): Promise<string> {
    project = await app.givenProject(anna, `empty-${count}`, { private: false });
    const made = await app.post(at("/fork"), as(user, { isPrivate }));
    expect(made.status, made.text).to.equal(200);
    await git(copy, "push", "--quiet", remote(anna), "main");
    return String(made.body["id"]);
  }

  async function fill(forkId: string): Promise<number> {
    const metadata = await metadataOfCreation(forkId);
    await fillFork(app.deps, forkId, metadata);
    return (await (await app.platform.git.find(forkId))?.refs())?.size ?? 0;
  }

  async function metadataOfCreation(forkId: string): Promise<EventMetadata> {
    for await (const { metadata } of app.platform.store.readStream(projectStream(forkId))) {
      return metadata;
    }
    throw new Error("no such fork");
  }

  for (const { what, forkIsPrivate, change } of changes) {
    it(`stays empty when its source ${what}`, async () => {
      const fork = await forkOfEmpty(bob, forkIsPrivate);
      expect((await change()) as object).to.include({ status: 200 });
      expect(await fill(fork)).to.equal(0);
    });
  }

  it("is filled when its source is still open to the forking user", async () => {
    expect(await fill(await forkOfEmpty(bob, false))).to.equal(1);
  });
});
