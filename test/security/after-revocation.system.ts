import { expect } from "chai";
import { startTestApp, type TestProject, type TestUser } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { eventually } from "../support/app/eventually.ts";
import { startReceiver } from "../support/client/receiver.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../support/git/git.ts";

/** Family 15: who loses a right loses it at every entry point, copies and histories included. */

const app = await startTestApp({ workers: true });
const receiver = await startReceiver();
const parent = await temporaryDirectory();
let count = 0;
let anna: TestUser;
let bob: TestUser;
let project: TestProject;
let at: string;
let copy: string;
let head: string;

beforeEach(async () => {
  count += 1;
  anna = await app.givenUser(`anna-${count}`);
  bob = await app.givenUser(`bob-${count}`);
  copy = await workingCopy(parent, `copy-${count}`);
});

function remote(user: Pick<TestUser, "alias" | "token">): string {
  const url = new URL(`${at}.git`, app.url);
  Object.assign(url, { username: user.alias, password: user.token });
  return url.href;
}

async function given(options: Readonly<{ private: boolean }>): Promise<void> {
  project = await app.givenProject(anna, "search", options);
  at = `/project/${anna.alias}/search`;
  head = await commit(copy, "One", { "secret.txt": "a secret\n" });
  await git(copy, "push", "--quiet", remote(anna), "main");
}

const as = (user: TestUser, body?: unknown) => ({ token: user.token, body });
const invite = (role: string) =>
  app.post(`${at}/member/invite`, as(anna, { userAlias: bob.alias, role }));
const listed = async (path: string, user: TestUser) =>
  JSON.stringify((await app.get(path, as(user))).body).includes(project.id);

/** Every read of the project there is, as this user; none may answer with anything of it. */
async function everythingIsClosedTo(user: TestUser): Promise<void> {
  const reads = [
    at,
    `/project/${project.id}`,
    `${at}/branch`,
    `${at}/commits?branch=main`,
    `${at}/commit/${head}`,
    `${at}/blob?commitHash=${head}&directory=`,
    `${at}/blob/download?commitHash=${head}&file=secret.txt`,
    `${at}/tag`,
    `${at}/member`,
    `${at}/forked`,
    `${at}/setting/webhook`,
  ];
  for (const path of reads) {
    const { status, text } = await app.get(path, as(user));
    expect([403, 404, 422], `${path}: ${status} ${text}`).to.include(status);
    expect(text).not.to.contain("a secret");
  }
  for (const list of [
    "/project",
    "/project/shared",
    "/project/my",
    `/user/${anna.alias}/projects`,
  ]) {
    expect(await listed(`${list}?size=200`, user), list).to.equal(false);
  }
  expect((await tryGit(copy, ["ls-remote", remote(user)])).exitCode).not.to.equal(0);
  expect((await tryGit(copy, ["push", remote(user), "main:other"])).exitCode).not.to.equal(0);
}

describe("a member who is removed", () => {
  it("loses everything at once, whatever role it was", async () => {
    await given({ private: true });
    await invite("ADMIN");
    expect((await app.get(at, as(bob))).status).to.equal(200);
    expect(await listed("/project/shared?size=200", bob)).to.equal(true);
    await git(copy, "ls-remote", remote(bob));
    const seen = await app.get(`${at}/commit/${head}`, as(bob));
    const etag = seen.headers.get("etag") ?? "";
    expect(seen.status, seen.text).to.equal(200);

    const removed = await app.delete(`${at}/member/${bob.alias}`, as(anna));
    expect(removed.status).to.equal(200);
    await everythingIsClosedTo(bob);
    // A copy that the user had before is not confirmed as current.
    const conditional = { ...as(bob), headers: { "if-none-match": etag } };
    expect((await app.get(`${at}/commit/${head}`, conditional)).status).to.equal(403);
  });

  it("cannot come back by what they set up while they were there", async () => {
    await given({ private: true });
    await invite("ADMIN");
    const body = { url: `${receiver.url}/hook`, secret: "s", events: { BRANCH_UPDATE: true } };
    const made = await app.post(`${at}/setting/webhook`, as(bob, body));
    expect(made.status, made.text).to.equal(200);
    await app.delete(`${at}/member/${bob.alias}`, as(anna));
    const hook = `${at}/setting/webhook/${made.body["id"]}`;
    const replay = { from: "2020-01-01T00:00:00.000Z", to: "2099-01-01T00:00:00.000Z" };
    const before = receiver.received.length;
    for (const [method, path, body] of [
      ["GET", hook],
      ["GET", `${hook}/delivery`],
      ["POST", `${hook}/replay`, replay],
      ["POST", `${hook}/test`, {}],
      ["POST", hook, { url: receiver.url }],
      ["POST", `${hook}/delete`],
      ["POST", `${at}/member/invite`, { userAlias: bob.alias, role: "ADMIN" }],
    ] as const) {
      const { status, text } = await app.send(method, path, as(bob, body));
      expect(status, `${method} ${path}: ${text}`).to.equal(403);
    }
    expect(receiver.received).to.have.length(before);
  });

  it("keeps what a team they are still in gives, and loses it with the team", async () => {
    const team = { title: "Team", alias: `team-${count}`, isPrivate: true };
    expect((await app.post("/team", as(anna, team))).status).to.equal(200);
    const body = { title: "Search", alias: "search", isPrivate: true, ownerAlias: team.alias };
    const made = await app.post(
      "/project",
      as(anna, { ...body, ownerAliasType: "TEAM", language: "Go" }),
    );
    expect(made.status, made.text).to.equal(200);
    at = `/project/${team.alias}/search`;
    await app.post(
      `/team/${team.alias}/member/invite`,
      as(anna, { userAlias: bob.alias, role: "GUEST" }),
    );
    expect((await app.get(at, as(bob))).status).to.equal(200);
    await app.delete(`/team/${team.alias}/member/${bob.alias}`, as(anna));
    expect((await app.get(at, as(bob))).status).to.equal(403);
  });
});

describe("a project that is made private", () => {
  const hide = () => app.put(`${at}/setting/visibility`, as(anna, { isPrivate: true }));

  it("is closed at once to everybody who has no role in it", async () => {
    await given({ private: false });
    expect((await app.get(at, as(bob))).status).to.equal(200);
    expect(await listed("/project?size=200", bob)).to.equal(true);
    expect((await app.get(`${at}.git/info/refs?service=git-upload-pack`)).status).to.equal(200);
    expect((await hide()).status).to.equal(200);
    await everythingIsClosedTo(bob);
    expect((await app.get(`${at}.git/info/refs?service=git-upload-pack`)).status).to.equal(401);
  });

  it("leaves a fork what it had, and gives it nothing that came later", async () => {
    await given({ private: false });
    const owner = { ownerAlias: bob.alias, ownerAliasType: "USER" };
    const forked = await app.post(`${at}/fork`, as(bob, owner));
    expect(forked.status, forked.text).to.equal(200);
    await hide();
    const later = await commit(copy, "Later", { "later.txt": "later secret\n" });
    await git(copy, "push", "--quiet", remote(anna), "main");

    const fork = `/project/${bob.alias}/search`;
    expect((await app.get(fork, as(bob))).status).to.equal(200);
    expect((await app.get(`${fork}/commit/${later}`, as(bob))).status).to.equal(404);
    const again = await app.post(`${at}/fork`, as(bob, { ...owner, alias: "second" }));
    expect(again.status).to.equal(403);
    expect(await listed(`${fork}/forked`, bob)).to.equal(false);
  });
});

describe("who is blocked", () => {
  it("comes in by no entry point, and by all of them once unblocked", async () => {
    await given({ private: true });
    await invite("DEVELOPER");
    const root = await app.givenUser(`root-${count}`, { admin: true });
    const account = `/admin/user/${bob.id}/account`;
    await app.post(`${account}/ban`, { token: root.token, body: {} });
    await everythingIsClosedTo(bob);
    const headers = {
      authorization: basicAuth(bob.alias, bob.password),
    };
    const body = { name: "t", scopes: ["USER_READ"] };
    const basic = () => app.post("/user/settings/access-token/create", { headers, body });
    expect((await basic()).status).to.equal(403);
    await app.post(`${account}/unban`, { token: root.token });
    await eventually(async () => (await app.get(at, as(bob))).status === 200);
    expect((await basic()).status).to.equal(200);
  });
});
