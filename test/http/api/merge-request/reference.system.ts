import { expect } from "chai";
import { closeIssuesOf } from "../../../../src/workers/merge-request/close-issues.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { git } from "../../../support/git/git.ts";
import { givenNaming } from "../../../support/merge-request/naming.ts";

const given = await givenNaming();
const { app, bob, issueStatus, editIssue, closingCommits } = given;

describe("what a merge request names", () => {
  it("closes nothing when it goes elsewhere", async () => {
    await git(given.world.copy, "push", "--quiet", "origin", "main:refs/heads/release");
    await given.world.open({ title: "Closes #1", targetBranch: { id: "release" } });
    await given.world.post(bob, "/merge-request/1/merge", { mergeCommitMessage: "Merged" });
    const [branch] = await given.world.branch({ "x.txt": "x\n" });
    await given.world.open({ description: "Resolves #1", sourceBranch: { id: branch } });
    const { body } = await given.world.post(bob, "/merge-request/2/merge");
    // Jobs may run in any order, so the commit says which of the two closed it.
    await eventually(async () => (await issueStatus(given.world)) === "CLOSED");
    const [second] = await app.deps
      .db("merge_request")
      .where({ id: body["id"] })
      .pluck("merge_commit");
    expect(second).to.be.a("string");
    expect(await closingCommits()).to.deep.equal([second]);
    const [first] = await app.deps
      .db("merge_request")
      .where({ project_id: given.world.project.id, local_id: 1 })
      .pluck("id");
    await closeIssuesOf(app.deps, first);
    await editIssue(given.world, { status: { id: "OPEN" } });
    await closeIssuesOf(app.deps, first);
    expect(await issueStatus(given.world)).to.equal("OPEN");
  });
});

describe("the workers of merge requests", () => {
  it("record pushes to the source without anybody looking", async () => {
    await given.world.open();
    const head = await given.world.push("feature", { "more.txt": "m\n" });
    const row = () =>
      app.deps.db("merge_request").where({ project_id: given.world.project.id }).first();
    await eventually(async () => (await row()).source_commit === head);
    const kept = await git(given.world.copy, "ls-remote", "origin", "refs/merge-requests/1/head");
    expect(kept).to.contain(head);
  });

  it("do nothing for the open requests when their target moves", async () => {
    await given.world.open();
    const [branch] = await given.world.branch({ "x.txt": "x\n" });
    await given.world.open({ sourceBranch: { id: branch } });
    const before = await app.head();
    await given.world.push("main", { "main.txt": "m\n" });
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
