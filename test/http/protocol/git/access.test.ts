import { request as httpRequest } from "node:http";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { repositoryStream } from "../../../../src/events/repository/repository.ts";
import { flushPacket, packet } from "../../../../src/git/pkt-line.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { eventually } from "../../../support/app/eventually.ts";
import {
  password,
  startGitApp,
  type TestProject,
  type TestUser,
} from "../../../support/app/git-app.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../../support/git/git.ts";

const app = await startGitApp({
  slots: { total: 2, share: 1, whenFull: { refuseAfterMs: 2_000 } },
});
const parent = await temporaryDirectory();
let anna: TestUser;
let bob: TestUser;
let hidden: TestProject;
let open: TestProject;
let copy: string;
let headId: string;

before(async () => {
  anna = await app.user("anna");
  bob = await app.user("bob");
  hidden = await app.project(anna, "hidden");
  open = await app.project(anna, "open", false);
  copy = await workingCopy(parent, "copy");
  headId = await commit(copy, "One", { "a.txt": "a\n" });
  for (const project of [hidden, open]) {
    await git(copy, "push", "--quiet", app.remote(project, anna), "main");
  }
});

const refs = (project: string, service = "git-upload-pack", authorization?: string) =>
  fetch(`${app.url}${project}.git/info/refs?service=${service}`, {
    headers: authorization === undefined ? {} : { authorization },
  });

async function recordedPushes(project: TestProject): Promise<number> {
  let events = 0;
  for await (const _ of app.store.readStream(repositoryStream(project.id))) events += 1;
  return events;
}

describe("the right to fetch and push", () => {
  it("is authenticated by an account's password, a token as password, or a token header", async () => {
    const ways = [
      basicAuth("anna", password),
      basicAuth("anna", anna.token),
      basicAuth("whatever", anna.token),
      `Bearer ${anna.token}`,
      `token ${anna.token}`,
    ];
    for (const way of ways) {
      const answer = await refs(hidden.path, "git-receive-pack", way);
      expect(answer.status, way.slice(0, 8)).to.equal(200);
      await answer.arrayBuffer();
    }
  });

  const wrong = [
    "Basic",
    "Basic !!!",
    basicAuth("anna", "wrong"),
    basicAuth("nobody", password),
    "Bearer x",
  ];
  for (const authorization of wrong) {
    it(`is not authenticated by ${JSON.stringify(authorization)}: 401 requests credentials again`, async () => {
      const answer = await refs(open.path, "git-upload-pack", authorization);
      expect(answer.status).to.equal(401);
      expect(answer.headers.get("www-authenticate")).to.match(/^Basic realm=/);
    });
  }

  it("to fetch a public project is everybody's, to push is not", async () => {
    expect((await refs(open.path)).status).to.equal(200);
    expect((await refs(open.path, "git-receive-pack")).status).to.equal(401);
    const answer = await refs(open.path, "git-receive-pack", basicAuth("bob", bob.token));
    expect(answer.status).to.equal(403);
  });

  it("to a private or unknown project: 401 to strangers, 403 and 404 to users", async () => {
    expect((await refs(hidden.path)).status).to.equal(401);
    expect((await refs("/project/anna/nothing")).status).to.equal(401);
    expect(
      (await refs(hidden.path, "git-upload-pack", basicAuth("bob", bob.token))).status,
    ).to.equal(403);
    const answer = await refs(
      "/project/anna/nothing",
      "git-upload-pack",
      basicAuth("bob", bob.token),
    );
    expect(answer.status).to.equal(404);
  });

  it("takes the token's scope: reading does not push, other scopes do not even read", async () => {
    const reads = await app.token(anna.id, ["PROJECT_READ"]);
    const other = await app.token(anna.id, ["USER_WRITE", "PROJECT_EDIT"]);
    const status = async (token: string, service: string) =>
      (await refs(hidden.path, service, basicAuth("anna", token))).status;

    expect(await status(reads, "git-upload-pack")).to.equal(200);
    expect(await status(reads, "git-receive-pack")).to.equal(403);
    expect(await status(other, "git-upload-pack")).to.equal(403);
  });

  it("of another user's project is refused to git itself, and nothing changes", async () => {
    const before = await recordedPushes(open);
    const { exitCode, stderr } = await tryGit(copy, ["push", app.remote(open, bob), "main:mine"]);

    expect(exitCode).to.equal(128);
    expect(stderr).to.contain("403");
    expect(await recordedPushes(open)).to.equal(before);
  });
});

describe("a request that says two things", () => {
  const post = (path: string, type: string, body: Buffer<ArrayBuffer> = flushPacket) =>
    fetch(`${app.url}${open.path}.git/${path}`, {
      method: "POST",
      headers: { "content-type": type, authorization: basicAuth("anna", anna.token) },
      body: new Uint8Array(body),
    });

  it("receive-pack in the path with upload-pack in the query is refused, also to a reader", async () => {
    const type = "application/x-git-receive-pack-request";
    expect((await post("git-receive-pack?service=git-upload-pack", type)).status).to.equal(400);
    const answer = await fetch(
      `${app.url}${open.path}.git/git-receive-pack?service=git-upload-pack`,
      {
        method: "POST",
        headers: { "content-type": type },
        body: flushPacket,
      },
    );
    expect(answer.status).to.be.oneOf([400, 401]);
  });

  it("a content type of another service, or of none, is refused", async () => {
    const upload = "application/x-git-upload-pack-request";
    expect((await post("git-receive-pack", upload)).status).to.equal(415);
    expect((await post("git-receive-pack", "text/plain")).status).to.equal(415);
    expect((await post("git-upload-archive", upload)).status).to.equal(404);
  });

  it("a wrong method, an unknown service, and the old protocol are refused", async () => {
    expect((await fetch(`${app.url}${open.path}.git/git-upload-pack`)).status).to.equal(405);
    const wrong = await fetch(`${app.url}${open.path}.git/info/refs`, { method: "POST" });
    expect(wrong.status).to.be.oneOf([403, 405]);
    for (const service of ["git-upload-archive", "--upload-pack=x"]) {
      expect((await refs(open.path, service)).status, service).to.equal(403);
    }
    expect((await refs(open.path, "git-upload-pack%00")).status).to.equal(422);
    expect((await fetch(`${app.url}${open.path}.git/info/refs`)).status).to.equal(403);
    const twice = "info/refs?service=git-upload-pack&service=git-receive-pack";
    expect((await fetch(`${app.url}${open.path}.git/${twice}`)).status).to.equal(403);
  });

  for (const path of [
    "HEAD",
    "config",
    "objects/info/packs",
    "../hidden.git/info/refs",
    "%2e%2e/x",
  ]) {
    it(`no file of the repository is served: ${path}`, async () => {
      expect((await app.get(`${open.path}.git/${path}`, anna.token)).status).to.be.oneOf([
        401, 403, 404,
      ]);
    });
  }

  for (const name of ["..", "%2e%2e", "-x", "a%2Fb", "a%00b", "%F0%9F%92%A9", "x".repeat(300)]) {
    it(`an owner or project called ${name.slice(0, 10)} is not there`, async () => {
      for (const path of [`/project/${name}/open`, `/project/anna/${name}`]) {
        const answer = await refs(path, "git-upload-pack", basicAuth("anna", anna.token));
        expect(answer.status).to.be.oneOf([404]);
      }
    });
  }
});

describe("what a client may send", () => {
  const push = (body: Buffer<ArrayBuffer>, headers: Record<string, string> = {}) =>
    fetch(`${app.url}${open.path}.git/git-receive-pack`, {
      method: "POST",
      headers: {
        "content-type": "application/x-git-receive-pack-request",
        authorization: basicAuth("anna", anna.token),
        ...headers,
      },
      body: new Uint8Array(body),
    });
  const zero = "0".repeat(40);

  it("answers are never kept", async () => {
    const answer = await refs(open.path);
    expect(answer.headers.get("cache-control")).to.equal("no-cache, max-age=0, must-revalidate");
    expect(answer.headers.get("content-type")).to.equal(
      "application/x-git-upload-pack-advertisement",
    );
    expect((await answer.text()).slice(0, 34)).to.equal("001e# service=git-upload-pack\n0000");
  });

  it("hidden refs and other git variables do not come in through Git-Protocol", async () => {
    const answer = await fetch(`${app.url}${open.path}.git/info/refs?service=git-upload-pack`, {
      headers: { "git-protocol": "version=2; PATH=/tmp" },
    });
    expect(await answer.text()).to.contain("# service=");
  });

  it("a gzip body that is none, is cut, or grows beyond measure is refused", async () => {
    const type = { "content-encoding": "gzip" };
    expect((await push(Buffer.from("0000"), type)).status).to.equal(400);
    const cut = gzipSync(Buffer.concat([flushPacket, Buffer.alloc(1000)])).subarray(0, 15);
    expect((await push(cut, type)).status).to.be.oneOf([200, 400]);
    const bomb = gzipSync(Buffer.alloc(80 * 1024 ** 2, "0032want "));
    const answer = await fetch(`${app.url}${open.path}.git/git-upload-pack`, {
      method: "POST",
      headers: { "content-type": "application/x-git-upload-pack-request", ...type },
      body: bomb,
    });
    expect((await answer.arrayBuffer()).byteLength).to.be.lessThan(1000);
    expect((await push(flushPacket, { "content-encoding": "br" })).status).to.equal(415);
  });

  for (const [what, line] of [
    ["a ref with a newline", `${zero} ${zero.replace(/0/g, "1")} refs/heads/a\nb`],
    ["an id that is an option", `${zero} --exec=x refs/heads/a`],
    ["a signed push", "push-cert\0 report-status"],
  ] as const) {
    it(`${what} is refused before git receives it`, async () => {
      const body = Buffer.concat([packet(`${line}\0 report-status side-band-64k`), flushPacket]);
      const answer = await push(body);

      expect(answer.status).to.equal(200);
      expect(await answer.text()).to.match(/cannot be pushed|not supported/);
      expect(await app.db("push_intent")).to.deep.equal([]);
    });
  }

  it("a push that is not made of packets is refused", async () => {
    for (const body of ["zzzz", "00", "ffff", "0003"]) {
      const answer = await push(Buffer.from(body));
      expect(answer.status, body).to.equal(200);
      await answer.arrayBuffer();
    }
    expect(await app.db("push_intent")).to.deep.equal([]);
  });

  it("a client that goes away in the middle ends git, and leaves no intent for good", async () => {
    const command = `${zero} ${headId} refs/heads/half\0 report-status side-band-64k`;
    const started = httpRequest(`${app.url}${open.path}.git/git-receive-pack`, {
      method: "POST",
      headers: {
        "content-type": "application/x-git-receive-pack-request",
        authorization: basicAuth("anna", anna.token),
      },
    });
    started.on("error", () => undefined);
    started.write(Buffer.concat([packet(command), flushPacket, Buffer.from("PACK\0\0\0\x02")]));
    await eventually(async () => (await app.db("push_intent")).length === 1);
    started.destroy();

    await eventually(async () => (await app.db("push_intent")).length === 0);
    expect(await app.db("git_ref").where({ name: "half" })).to.deep.equal([]);
    // Its slot is free again.
    await git(copy, "push", "--quiet", app.remote(open, anna), "main:after");
  });

  it("a request over the limit of concurrent ones waits, then is answered Retry-After", async () => {
    const hold = httpRequest(`${app.url}${open.path}.git/git-receive-pack`, {
      method: "POST",
      headers: {
        "content-type": "application/x-git-receive-pack-request",
        authorization: basicAuth("anna", anna.token),
      },
    });
    hold.on("error", () => undefined);
    // The slot is taken once the commands are here; the pack is waited for in it.
    const command = `${zero} ${headId} refs/heads/held\0 report-status side-band-64k`;
    hold.write(Buffer.concat([packet(command), flushPacket, Buffer.from("PACK\0\0\0\x02")]));
    const answer = await eventually(async () => {
      const second = await refs(open.path, "git-receive-pack", basicAuth("anna", anna.token));
      return second.status === 503 ? second : undefined;
    }, 60_000);

    expect(answer?.headers.get("retry-after")).to.equal("10");
    expect((await refs(open.path, "git-upload-pack", basicAuth("bob", bob.token))).status).to.equal(
      200,
    );
    hold.destroy();
  });
});
