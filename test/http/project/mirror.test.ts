import { expect } from "chai";

import { mirrorStream } from "../../../src/events/project/mirror.ts";
import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { type Send, startTestApp, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../support/git/git.ts";
import { startGitServer } from "../../support/git/git-server.ts";

const app = await startTestApp({ workers: true });
const other = await startGitServer();
const parent = await temporaryDirectory();
const as = (user: TestUser, body?: unknown): Send => ({ token: user.token, body });

let anna: TestUser;
let copy: string;

const at = (alias: string) => `/project/anna/${alias}`;
const remote = (alias: string) => {
  const url = new URL(`${at(alias)}.git`, app.url);
  return Object.assign(url, { username: "anna", password: anna.token }).href;
};
/** Names and ids of branches and tags. */
const refsAt = (url: string) => git(copy, "ls-remote", "--heads", "--tags", url);
const mirrored = (alias: string, name: string) =>
  eventually(async () => (await refsAt(remote(alias))) === (await refsAt(other.url(name))), 60_000);
const state = async (alias: string) => (await app.get(`${at(alias)}/mirror`, as(anna))).body;
const failure = (alias: string) =>
  eventually(async () => {
    const { errorCode } = await state(alias);
    return typeof errorCode === "string" && errorCode;
  }, 60_000);
const recordedTypes = async (stream: string) => {
  const events: string[] = [];
  for await (const event of app.platform.store.readStream(stream)) events.push(event.type);
  return events;
};
const mirrorEvents = async (id: string) => recordedTypes(mirrorStream(id));

/** A project of anna's and, on the other server, a repository with a history. */
async function given(name: string): Promise<string> {
  await other.create(name);
  await git(copy, "push", "--quiet", other.url(name), "main", "main:dev", "v1");
  return (await app.givenProject(anna, name)).id;
}

async function mirror(name: string, body: object): Promise<Record<string, unknown>> {
  const answer = await app.post(`${at(name)}/mirror`, as(anna, { url: other.url(name), ...body }));
  expect(answer.status, answer.text).to.equal(200);
  return answer.body;
}

before(async () => {
  anna = await app.givenUser("anna");
  const root = await app.givenUser("root", { admin: true });
  const body = { projectUpdateLag: 1 };
  expect((await app.post("/admin/settings/mirrors", as(root, body))).status).to.equal(200);
  copy = await workingCopy(parent, "copy");
  await commit(copy, "One", { "a.txt": "a\n" });
  await git(copy, "tag", "-a", "v1", "-m", "Version 1");
});

beforeEach(() => other.reset());

describe("a PULL mirror", () => {
  it("brings branches and tags as a push would, and follows what changes there", async () => {
    const id = await given("pulled");
    const shown = await mirror("pulled", { type: "PULL" });
    const url = other.url("pulled");
    const fields = { mirror: true, mirrorType: "PULL", mirrorUrl: url, pullMirrorUrl: url };
    expect(shown).to.include(fields);
    await mirrored("pulled", "pulled");
    // The events are written after the repository has the refs.
    await eventually(async () =>
      expect(await recordedTypes(repositoryStream(id))).to.deep.equal([
        "BranchCreated",
        "BranchCreated",
        "TagCreated",
      ]),
    );

    const next = await commit(copy, "Two", { "b.txt": "b\n" });
    await git(copy, "push", "--quiet", url, "main", ":dev", ":v1", "main:topic/new");
    expect((await app.post(`${at("pulled")}/mirror/sync`, as(anna))).status).to.equal(200);
    await mirrored("pulled", "pulled");
    expect(await refsAt(remote("pulled")))
      .to.contain(next)
      .and.not.contain("dev");
    const listed = await app.get(`/project/my?q=pulled`, as(anna));
    expect(listed.text).to.contain(`"pullMirrorUrl":"${url}"`);
    const status = await eventually(async () => {
      const body = await state("pulled");
      return body["status"] === "SUCCESS" && body;
    });
    expect(status).to.include({ type: "PULL", url, failures: 0, error: null });
  });

  it("takes no pushes by people, and says why", async () => {
    await given("closed");
    await mirror("closed", { type: "PULL" });
    await mirrored("closed", "closed");
    const before = await refsAt(remote("closed"));
    const pushed = await tryGit(copy, ["push", remote("closed"), "main:mine"]);
    expect(pushed.exitCode).not.to.equal(0);
    expect(pushed.stderr).to.contain("the project is a mirror of another repository");
    expect(await refsAt(remote("closed"))).to.equal(before);

    const removed = await app.delete(`${at("closed")}/mirror`, as(anna));
    expect(removed.body).to.include({ mirror: false, mirrorType: null, mirrorUrl: null });
    const again = await tryGit(copy, ["push", remote("closed"), "main:mine"]);
    expect(again.exitCode, again.stderr).to.equal(0);
  });

  it("takes the default branch over when it has no such branch itself", async () => {
    const directory = await other.create("renamed");
    await git(copy, "push", "--quiet", other.url("renamed"), "main:trunk", "main:another");
    await git(directory, "symbolic-ref", "HEAD", "refs/heads/trunk");
    await app.givenProject(anna, "renamed");
    await mirror("renamed", { type: "PULL" });
    await mirrored("renamed", "renamed");
    await eventually(async () =>
      expect((await app.get(at("renamed"), as(anna))).body).to.include({ defaultBranch: "trunk" }),
    );
  });

  it("leaves refs alone that the project's rules protect, and reports it", async () => {
    await given("guarded");
    const rule = { branchTemplate: "dev", allowForcePush: false };
    const made = await app.post(`${at("guarded")}/branch-protection/create`, as(anna, rule));
    expect(made.status, made.text).to.equal(200);
    await mirror("guarded", { type: "PULL" });
    await mirrored("guarded", "guarded");
    await git(copy, "push", "--quiet", other.url("guarded"), ":dev", "main:more");
    await app.post(`${at("guarded")}/mirror/sync`, as(anna));
    expect(await failure("guarded")).to.equal("mirror.protected");
    const refs = await refsAt(remote("guarded"));
    expect(refs).to.contain("refs/heads/dev").and.to.contain("refs/heads/more");
    const { error, failures } = await state("guarded");
    expect(error).to.contain("refs/heads/dev");
    expect(failures).to.equal(0);
  });

  it("does not replace what a project holds without `overwrite`", async () => {
    await given("full");
    await git(copy, "push", "--quiet", remote("full"), "main:own");
    const body = { url: other.url("full"), type: "PULL" };
    const refused = await app.post(`${at("full")}/mirror`, as(anna, body));
    expect([refused.status, refused.body["code"]]).to.deep.equal([422, "mirror.not_empty"]);
    await mirror("full", { type: "PULL", overwrite: true });
    await mirrored("full", "full");
  });
});

describe("a PUSH mirror", () => {
  it("makes the other repository follow, after each push", async () => {
    await other.create("pushed");
    await app.givenProject(anna, "pushed");
    await git(copy, "push", "--quiet", remote("pushed"), "main", "v1");
    const shown = await mirror("pushed", { type: "PUSH" });
    expect(shown).to.include({ mirror: true, mirrorType: "PUSH", pullMirrorUrl: null });
    await mirrored("pushed", "pushed");

    await commit(copy, "Three", { "c.txt": "c\n" });
    await git(copy, "push", "--quiet", remote("pushed"), "main", ":v1", "main:dev");
    await mirrored("pushed", "pushed");
  });

  it("does not empty the other repository when the project is empty", async () => {
    await given("empty");
    await mirror("empty", { type: "PUSH" });
    expect(await failure("empty")).to.equal("mirror.empty");
    expect(await refsAt(other.url("empty"))).to.contain("refs/heads/main");
  });

  it("says what the other server does not take", async () => {
    const directory = await other.create("refusing");
    await git(directory, "config", "receive.denyNonFastForwards", "true");
    await git(directory, "config", "receive.denyDeletes", "true");
    await app.givenProject(anna, "refusing");
    await git(copy, "push", "--quiet", other.url("refusing"), "main", "main:stays");
    await git(copy, "push", "--quiet", remote("refusing"), "main");
    await mirror("refusing", { type: "PUSH" });
    expect(await failure("refusing")).to.equal("remote.rejected");
  });
});

describe("the credentials of a mirror", () => {
  const token = "a+token/with=odd:signs";

  it("open the other server, and are in no event and no answer", async () => {
    const id = await given("secret");
    other.require("carl", token);
    const shown = await mirror("secret", { type: "PULL", username: "carl", token });
    await eventually(async () => (await state("secret"))["status"] === "SUCCESS", 60_000);
    const outputs: string[] = [JSON.stringify(shown), JSON.stringify(await state("secret"))];
    for await (const event of app.platform.store.readStream(mirrorStream(id))) {
      outputs.push(JSON.stringify(event.data));
    }
    const encoded = Buffer.from(`carl:${token}`).toString("base64");
    for (const secret of [token, encoded, "carl"]) expect(outputs.join()).not.to.contain(secret);
  });

  it("are not kept for another URL", async () => {
    await given("moved");
    other.require("carl", token);
    await mirror("moved", { type: "PULL", username: "carl", token });
    await eventually(async () => (await state("moved"))["status"] === "SUCCESS", 60_000);
    other.received.length = 0;
    await mirror("moved", { type: "PULL", url: other.url("elsewhere") });
    expect(await failure("moved")).to.equal("remote.authentication");
    const sent = other.received.filter(({ url }) => url.startsWith("/elsewhere"));
    expect(sent).not.to.deep.equal([]);
    expect(sent.every(({ headers }) => headers.authorization === undefined)).to.equal(true);
  });

  it("are recorded once when they are wrong, and when they are right again", async () => {
    const id = await given("locked");
    other.require("carl", token);
    await mirror("locked", { type: "PULL", username: "carl", token: "wrong" });
    expect(await failure("locked")).to.equal("remote.authentication");
    const { failures, nextAt, error } = await state("locked");
    expect(error).to.equal("The server refuses the credentials.");
    expect(failures).to.equal(1);
    expect(Date.parse(String(nextAt))).to.be.greaterThan(Date.now() + 30_000);
    await app.post(`${at("locked")}/mirror/sync`, as(anna));
    await eventually(async () => (await state("locked"))["failures"] === 2, 60_000);
    other.reset();
    await app.post(`${at("locked")}/mirror/sync`, as(anna));
    await mirrored("locked", "locked");
    await eventually(async () => (await mirrorEvents(id)).at(-1) === "MirrorRecovered");
    expect((await mirrorEvents(id)).filter((type) => type !== "MirrorSyncRequested")).to.deep.equal(
      ["MirrorConfigured", "MirrorFailed", "MirrorRecovered"],
    );
  });
});

describe("a mirror that is ended", () => {
  it("is not there any more, and what was under way changes nothing", async () => {
    const id = await given("ended");
    // The other server answers so slowly that the mirror is gone before it is done.
    let waiting = 0;
    other.first(() => {
      waiting += 1;
      return true;
    });
    await mirror("ended", { type: "PULL" });
    await eventually(() => waiting > 0);
    expect((await app.delete(`${at("ended")}/mirror`, as(anna))).status).to.equal(200);
    await eventually(async () => {
      const rows = await app.platform.db("mirror_sync").where({ project_id: id });
      return rows.length === 0;
    });
    expect(await recordedTypes(repositoryStream(id))).to.deep.equal([]);
    expect(await mirrorEvents(id)).to.deep.equal(["MirrorConfigured", "MirrorRemoved"]);
    for (const [method, path] of [
      ["DELETE", "mirror"],
      ["POST", "mirror/sync"],
      ["GET", "mirror"],
    ]) {
      const answer = await app.send(String(method), `${at("ended")}/${path}`, as(anna));
      expect([answer.status, answer.body["code"]]).to.deep.equal([404, "mirror.not_found"]);
    }
  });
});
