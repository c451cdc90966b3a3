import { expect } from "chai";

import { projectStream } from "../../../../src/events/project/project.ts";
import type { Job } from "../../../../src/platform/queue/queue.ts";
import { projectPurgeWorker, sweepDeletedProjects } from "../../../../src/workers/project/purge.ts";
import { type Send, startTestApp, type TestUser } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { startReceiver } from "../../../support/client/receiver.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../../support/git/git.ts";

const app = await startTestApp({ workers: true });
const receiver = await startReceiver();
const parent = await temporaryDirectory();
const as = (user: TestUser, body?: unknown): Send => ({ token: user.token, body });

let anna: TestUser;
let bob: TestUser;
let copy: string;

const remote = (alias: string, owner = anna) => {
  const url = new URL(`/project/${owner.alias}/${alias}.git`, app.url);
  return Object.assign(url, { username: owner.alias, password: owner.token }).href;
};
const remove = (id: string) => app.delete(`/project/${id}/delete`, as(anna));
const restore = (id: string, user = anna) => app.post(`/project/${id}/restore`, as(user));
const events = async (id: string) => {
  const types: string[] = [];
  for await (const { type } of app.platform.store.readStream(projectStream(id))) types.push(type);
  return types;
};

/** A project with everything in it. */
async function given(alias: string): Promise<string> {
  const { id } = await app.givenProject(anna, alias);
  const at = `/project/anna/${alias}`;
  await git(copy, "push", "--quiet", remote(alias), "main", "v1");
  for (const [path, body] of [
    ["member/invite", { userAlias: "bob", role: "DEVELOPER" }],
    ["branch-protection/create", { branchTemplate: "release/*", allowedToPush: "ADMINS" }],
    ["setting/webhook", { url: receiver.url, secret: "s3cret", events: { BRANCH_UPDATE: true } }],
  ] as const) {
    const made = await app.post(`${at}/${path}`, as(anna, body));
    expect(made.status, made.text).to.equal(200);
  }
  return id;
}

before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
  copy = await workingCopy(parent, "copy");
  await commit(copy, "One", { "a.txt": "a\n" });
  await git(copy, "tag", "v1");
});

describe("a project that is deleted and restored", () => {
  it("is gone for everybody, and comes back with all that was in it", async () => {
    const id = await given("search");
    const at = "/project/anna/search";
    const paths = [at, `${at}/member`, `${at}/branch-protection`, `${at}/setting/webhook`];
    const before = await Promise.all(
      paths.map(async (path) => (await app.get(path, as(anna))).text),
    );
    const refs = await git(copy, "ls-remote", remote("search"));
    expect((await remove(id)).status).to.equal(200);
    for (const path of paths) expect((await app.get(path, as(anna))).status).to.equal(404);
    expect((await app.get("/project/my", as(anna))).text).not.to.contain(id);
    expect((await tryGit(copy, ["ls-remote", remote("search")])).exitCode).not.to.equal(0);
    expect((await restore(id, bob)).status).to.equal(403);

    expect((await restore(id)).status).to.equal(200);
    const after = await Promise.all(
      paths.map(async (path) => (await app.get(path, as(anna))).text),
    );
    expect(after.map(stable)).to.deep.equal(before.map(stable));
    expect(await git(copy, "ls-remote", remote("search"))).to.equal(refs);
    receiver.reset();
    await commit(copy, "Two", { "b.txt": "b\n" });
    const url = new URL(remote("search"));
    Object.assign(url, { username: "bob", password: bob.token });
    await git(copy, "push", "--quiet", url.href, "main");
    await eventually(() => receiver.received.length > 0);
    expect(receiver.received[0]?.headers["service-webhook-secret"]).to.equal("s3cret");
    expect((await restore(id)).status, "again").to.equal(200);
  });

  it("is not restored under an alias that is taken", async () => {
    const { id } = await app.givenProject(anna, "taken");
    await remove(id);
    await app.givenProject(anna, "taken");
    const answer = await restore(id);
    expect([answer.status, answer.body["code"]]).to.deep.equal([422, "alias.taken"]);
  });
});

/** What is measured beside it may come in between. */
const stable = (text: string): string => text.replace(/"usedBytes":\d+/, "");

describe("a project whose time for being restored is over", () => {
  const later = () => new Date(Date.now() + 31 * 24 * 3_600_000);

  it("is purged: repository and secrets go, its forks and what happened stay", async () => {
    const id = await given("old");
    const forked = await app.post("/project/anna/old/fork", as(anna, { alias: "fork" }));
    expect(forked.status, forked.text).to.equal(200);
    const [hook] = await app.platform.db("webhook").where({ project_id: id }).select("secret");
    await remove(id);
    const { db, store, vault, git: repositories } = app.platform;
    const jobs: Job[] = [];
    const add = async (added: readonly Job[]) => void jobs.push(...added);
    const queues = { ...app.platform.queues, add };
    const common = { ...app.deps, outbound: undefined as never, proxy: undefined as never, queues };
    await sweepDeletedProjects(common);
    expect(jobs.filter(({ data }) => JSON.stringify(data).includes(id))).to.deep.equal([]);
    const deps = { ...common, now: later };
    await sweepDeletedProjects(deps);
    const job = jobs.find(({ data }) => JSON.stringify(data).includes(id));
    const run = (own = deps) =>
      projectPurgeWorker.runJob(job?.data, own, new AbortController().signal);

    // It dies after the event and before anything else; then it runs again, twice.
    const dying = { ...repositories, remove: () => Promise.reject(new Error("killed")) };
    await expect(run({ ...deps, git: dying })).to.be.rejectedWith("killed");
    await run();
    await run();
    expect(await repositories.find(id)).to.equal(undefined);
    expect(await vault.open(hook?.secret)).to.equal(null);
    expect((await events(id)).slice(-2)).to.deep.equal(["ProjectDeleted", "ProjectPurged"]);
    await app.deps.visible(await store.head());
    expect(await db("project").where({ id })).to.deep.equal([]);
    expect((await restore(id)).status).to.equal(404);

    const clone = await tryGit(parent, ["clone", "--quiet", remote("fork"), "clone"]);
    expect(clone.exitCode, clone.stderr).to.equal(0);
    expect((await app.givenProject(anna, "old")).id).not.to.equal(id);
  });

  it("does not come back, also before it was purged", async () => {
    const { id } = await app.givenProject(anna, "late");
    await remove(id);
    const longAgo = new Date(Date.now() - 31 * 24 * 3_600_000);
    await app.platform.db("project").where({ id }).update({ deleted_at: longAgo });
    expect((await restore(id)).status).to.equal(404);
    expect((await events(id)).at(-1)).to.equal("ProjectDeleted");
  });

  it("is not purged when it was restored in time", async () => {
    const { id } = await app.givenProject(anna, "kept");
    await git(copy, "push", "--quiet", remote("kept"), "main");
    const refs = await git(copy, "ls-remote", remote("kept"));
    await remove(id);
    await restore(id);
    const deps = {
      ...app.deps,
      outbound: undefined as never,
      proxy: undefined as never,
      now: later,
    };
    const data = { projectId: id };
    await projectPurgeWorker.runJob(data, deps, new AbortController().signal);
    expect((await events(id)).at(-1)).to.equal("ProjectRestored");
    expect((await app.get("/project/anna/kept", as(anna))).status).to.equal(200);
    expect(await git(copy, "ls-remote", remote("kept"))).to.equal(refs);
  });
});
