import { expect } from "chai";

import { closeIssuesOf } from "../../../src/workers/merge-request/close-issues.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { git } from "../../support/git/git.ts";
import { idOf, type Json, type MergeWorld, mergeWorlds } from "../../support/git/merge-world.ts";

const app = await startTestApp({ workers: true });
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;

const bug = { title: "Bug", description: "It does not work" };
let world: MergeWorld;
let other: MergeWorld;
beforeEach(async () => {
  [world, other] = [await newWorld(), await newWorld()];
  for (const { post } of [world, other]) {
    expect((await post(anna, "/issue", bug)).status).to.equal(200);
  }
});

const issueStatus = async ({ get }: MergeWorld) =>
  idOf((await get(anna, "/issue/1")).body["status"]);

async function editIssue({ put }: MergeWorld, over: Json): Promise<void> {
  const { status, text } = await put(anna, "/issue/1/edit", { ...bug, ...over });
  expect(status, text).to.equal(200);
}

async function references(of: string): Promise<readonly unknown[]> {
  const { body, text } = await world.get(bob, `${of}/references`);
  expect(body["_embedded"], text).to.be.an("object");
  const { referenceList } = body["_embedded"] as { referenceList: Json[] };
  return referenceList.map(({ kind, localId, closes }) => [kind, localId, closes]);
}

describe("what a merge request names", () => {
  it("closes issues of its own project once it is merged into the default branch", async () => {
    const path = `anna/${other.project.alias}`;
    const own = `anna/${world.project.alias}`;
    await world.open({ description: `Fixes ${own}#1 and closes ${path}#1, closes #99999999999` });
    expect(await references("/issue/1")).to.deep.equal([["MERGE_REQUEST", 1, true]]);
    expect((await world.post(bob, "/merge-request/1/merge")).status).to.equal(200);
    await eventually(async () => (await issueStatus(world)) === "CLOSED");
    expect(await issueStatus(other)).to.equal("OPEN");
    // Reopened, it stays open when the job runs again: the merge closes it once.
    await editIssue(world, { status: { id: "OPEN" } });
    const row = await app.deps.db("merge_request").where({ project_id: world.project.id }).first();
    await closeIssuesOf(app.deps, row.id);
    expect(await issueStatus(world)).to.equal("OPEN");
    expect(await closingCommits()).to.have.length(1);
  });

  it("closes nothing when it goes elsewhere", async () => {
    await git(world.copy, "push", "--quiet", "origin", "main:refs/heads/release");
    await world.open({ title: "Closes #1", targetBranch: { id: "release" } });
    await world.post(bob, "/merge-request/1/merge", { mergeCommitMessage: "Merged" });
    const [branch] = await world.branch({ "x.txt": "x\n" });
    await world.open({ description: "Resolves #1", sourceBranch: { id: branch } });
    const { body } = await world.post(bob, "/merge-request/2/merge");
    // Jobs may run in any order, so the commit says which of the two closed it.
    await eventually(async () => (await issueStatus(world)) === "CLOSED");
    const [second] = await app.deps
      .db("merge_request")
      .where({ id: body["id"] })
      .pluck("merge_commit");
    expect(second).to.be.a("string");
    expect(await closingCommits()).to.deep.equal([second]);
    const [first] = await app.deps
      .db("merge_request")
      .where({ project_id: world.project.id, local_id: 1 })
      .pluck("id");
    await closeIssuesOf(app.deps, first);
    await editIssue(world, { status: { id: "OPEN" } });
    await closeIssuesOf(app.deps, first);
    expect(await issueStatus(world)).to.equal("OPEN");
  });
});

/** Commits that closed the issue of the world. */
async function closingCommits(): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  const { id } = (await world.get(anna, "/issue/1")).body;
  for await (const { type, data } of app.deps.store.readStream(`issue-${id}`)) {
    if (type === "IssueClosedByCommit") found.push(data["commitId"]);
  }
  return found;
}

describe("what names a merge request", () => {
  it("is listed as far as the caller may read it", async () => {
    await world.open();
    const at = "/merge-request/1/discussions";
    const root = (await world.post(carl, `${at}/create`, { message: "Like !1" })).body;
    const reply = { discussionUuid: root["uuid"], message: "see !1" };
    await world.post(bob, `${at}/reply`, reply);
    const hidden = `anna/${world.project.alias}!1`;
    await editIssue(other, { description: `as in ${hidden}` });
    await world.push("feature", { "more.txt": "m\n" });
    const all = [
      ["NOTE", 1, false],
      ["NOTE", 1, false],
      ["ISSUE", 1, false],
    ];
    expect(await references("/merge-request/1")).to.deep.equal(all);
    await app.delete(other.at("/member/bob"), { token: anna.token });
    expect(await references("/merge-request/1")).to.deep.equal(all.slice(0, 2));
    await world.delete(anna, `${at}/delete/${root["uuid"]}`);
    expect(await references("/merge-request/1")).to.deep.equal([]);
  });
});

describe("the workers of merge requests", () => {
  it("record pushes to the source without anybody looking", async () => {
    await world.open();
    const head = await world.push("feature", { "more.txt": "m\n" });
    const row = () => app.deps.db("merge_request").where({ project_id: world.project.id }).first();
    await eventually(async () => (await row()).source_commit === head);
    const kept = await git(world.copy, "ls-remote", "origin", "refs/merge-requests/1/head");
    expect(kept).to.contain(head);
  });

  it("do nothing for the open requests when their target moves", async () => {
    await world.open();
    const [branch] = await world.branch({ "x.txt": "x\n" });
    await world.open({ sourceBranch: { id: branch } });
    const before = await app.head();
    await world.push("main", { "main.txt": "m\n" });
    // The log receives the events of the push itself and those that every push causes, no others.
    await eventually(async () => ((await app.head()) ?? 0n) > (before ?? 0n));
    const types: string[] = [];
    for await (const item of app.deps.store.subscribeAll({
      after: before,
      signal: AbortSignal.timeout(30_000),
    })) {
      if (item.kind === "caughtUp") break;
      if (item.kind === "event") types.push(item.event.type);
    }
    expect(types.filter((type) => type.startsWith("MergeRequest"))).to.deep.equal([]);
  });
});
