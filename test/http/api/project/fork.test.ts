import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { ProjectId, UserId } from "../../../../src/events/core/ids.ts";
import { projectStream } from "../../../../src/events/project/project.ts";
import { repositoryStream } from "../../../../src/events/repository/repository.ts";
import { projectFork, projectForkWorker } from "../../../../src/workers/project/fork.ts";
import { type Send, startTestApp, type TestUser } from "../../../support/app/app.ts";
import { metadataFor } from "../../../support/app/history.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../../support/git/git.ts";

const app = await startTestApp();
const parent = await temporaryDirectory();
const as = (user: { token: string }, body?: unknown): Send => ({ token: user.token, body });

let anna: TestUser;
let bob: TestUser;
let source: string;
let copy: string;

const remote = (user: TestUser, at: string) => {
  const url = new URL(`/project/${at}.git`, app.url);
  Object.assign(url, { username: user.alias, password: user.token });
  return url.href;
};
const recordedEvents = async (projectId: string) => {
  const events: string[] = [];
  for await (const event of app.platform.store.readStream(repositoryStream(projectId))) {
    events.push(`${event.type} ${event.metadata.actor.alias}`);
  }
  return events;
};

before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
  for (const isPrivate of [false, true]) {
    const alias = isPrivate ? "hidden" : "search";
    const body = { title: "Search", alias, language: "Go", isPrivate };
    const made = await app.post("/project", as(anna, body));
    if (!isPrivate) source = String(made.body["id"]);
  }
  copy = await workingCopy(parent, "copy");
  await commit(copy, "One", { "a.txt": "a\n" });
  await git(copy, "tag", "-a", "v1", "-m", "Version 1");
  await git(copy, "push", "--quiet", remote(anna, "anna/search"), "main", "main:dev", "v1");
});

describe("forking a project", () => {
  it("makes a project with all its branches and tags, by the forking user", async () => {
    const { status, body } = await app.post("/project/anna/search/fork", as(bob, {}));
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body).to.deep.include({
      owner: { alias: "bob", type: "USER" },
      alias: "search",
      title: "Search",
      language: "Go",
      forkedFromId: source,
      private: false,
    });
    const listed = (at: string) => git(copy, "ls-remote", remote(bob, at));
    expect(await listed("bob/search")).to.equal(await listed("anna/search"));
    expect(await recordedEvents(String(body["id"]))).to.deep.equal([
      "BranchCreated bob",
      "BranchCreated bob",
      "TagCreated bob",
    ]);
    expect((await app.get("/project/bob/search/branch", as(bob))).text).to.contain('"dev"');
  });

  it("shares nothing: what is pushed to one is not in the other, and either may go", async () => {
    const id = await commit(copy, "Two", { "b.txt": "b\n" });
    await git(copy, "push", "--quiet", remote(bob, "bob/search"), "main");
    expect(await git(copy, "ls-remote", remote(bob, "anna/search"))).not.to.contain(id);
    await app.platform.git.remove(source);
    const clone = await tryGit(parent, ["clone", "--quiet", remote(bob, "bob/search"), "clone"]);
    expect(clone.exitCode, clone.stderr).to.equal(0);
    expect(await git(`${parent}/clone`, "fsck", "--full")).not.to.contain("missing");
  });

  it("lists the public forks, and no others", async () => {
    const quiet = { alias: "quiet", isPrivate: true };
    expect((await app.post("/project/anna/search/fork", as(bob, quiet))).status).to.equal(200);
    const { body } = await app.get("/project/anna/search/forked", as(anna));
    const { projectList } = body["_embedded"] as { projectList: { alias: string }[] };
    expect(projectList.map(({ alias }) => alias)).to.deep.equal(["search"]);
    expect(body["page"]).to.include({ totalElements: 1 });
  });

  it("is refused to who may not see it, for others, and under a taken alias", async () => {
    const head = await app.head();
    expect((await app.post("/project/anna/hidden/fork", as(bob, {}))).status).to.equal(403);
    const forAnna = { ownerAlias: "anna", alias: "stolen" };
    expect((await app.post("/project/anna/search/fork", as(bob, forAnna))).status).to.equal(403);
    expect(await app.head()).to.equal(head);
    const taken = await app.post("/project/anna/search/fork", as(bob, {}));
    expect([taken.status, taken.body["code"]]).to.deep.equal([422, "alias.taken"]);
  });

  it("keeps a fork of a private project private", async () => {
    const path = "/project/anna/hidden/fork";
    const open = await app.post(path, as(anna, { alias: "opened", isPrivate: false }));
    expect([open.status, open.body["code"]]).to.deep.equal([422, "fork.public_of_private"]);
    const fork = await app.post(path, as(anna, { alias: "still-hidden" }));
    expect(fork.body).to.include({ private: true });
  });
});

describe("a fork whose maker died", () => {
  it("is filled by a worker, once", async () => {
    await app.post("/project", as(anna, { title: "Base", alias: "base" }));
    await git(copy, "push", "--quiet", remote(anna, "anna/base"), "main");
    const base = await app.get("/project/anna/base", as(anna));
    const forkId = randomUUID();
    const actor = { userId: anna.id, alias: anna.alias, via: "token", tokenId: null } as const;
    const metadata = metadataFor(randomUUID(), { actor });
    const data = {
      projectId: ProjectId.parse(forkId),
      ownerId: anna.id,
      ownerType: "USER",
      alias: "fork",
      title: "Fork",
      description: null,
      language: null,
      private: true,
      defaultBranch: "main",
      forkedFromId: base.body["id"],
      createdById: UserId.parse(anna.id),
      createdAt: metadata.occurredAt,
    };
    const event = { type: "ProjectCreated", data, id: randomUUID(), metadata };
    const { position } = await app.platform.store.append(projectStream(forkId), "none", [event]);
    await app.deps.visible(position);

    const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };
    const recorded = { ...event, stream: "", revision: 0n, position, recordedAt: new Date() };
    const [job] = await projectFork.react(recorded, deps);
    expect(job).to.include({ queue: "project-fork", id: event.id });
    for (let run = 0; run < 2; run += 1) {
      await projectForkWorker.runJob(job?.data, deps, new AbortController().signal);
    }
    // By the account that forked: its rights are checked again.
    expect(await recordedEvents(forkId)).to.deep.equal(["BranchCreated anna"]);
  });
});
