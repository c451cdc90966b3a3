import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { findMergeRequest } from "../../../../src/projections/merge-request/merge-request-query.ts";
import { findProjectById } from "../../../../src/projections/project/project.ts";
import { changeRefs } from "../../../../src/services/git/ref-change.ts";
import { merge } from "../../../../src/services/merge-request/merge.ts";
import { codeOf } from "../../../support/app/answer.ts";
import { commit, git } from "../../../support/git/git.ts";
import { givenMerging } from "../../../support/merge-request/merging.ts";

const given = await givenMerging();
const { app, anna, bob, merging, merged, fetched, show, moves } = given;

const metadataOf = async () => ({
  actor: { userId: bob.id, alias: "bob", via: "token", tokenId: null } as const,
  ip: null,
  correlationId: "test",
  causationId: null,
  schemaVersion: 1,
  occurredAt: new Date().toISOString(),
});

describe("merging", () => {
  it("squashes into one commit that keeps the author of the request", async () => {
    await given.world.push("feature", { "second.txt": "2\n" });
    await given.world.open();
    await merged({ squashCommit: true, squashCommitMessage: "One step" });
    const head = await fetched();
    expect(await show("%P", head)).to.equal(given.world.head);
    expect(await show("%an|%cn|%s", head)).to.equal("anna|bob|One step");
    const files = await git(given.world.copy, "ls-tree", "--name-only", head);
    expect(files.split("\n")).to.deep.equal(["a.txt", "feature.txt", "second.txt"]);
  });

  it("rebases each commit with its author, leaving out merges and what changes nothing", async () => {
    const { copy } = given.world;
    await git(copy, "checkout", "--quiet", "feature");
    await commit(copy, "Second", { "second.txt": "2\n" });
    await git(copy, "checkout", "--quiet", "main");
    await given.world.push("main", { "feature.txt": "one\n", "a.txt": "a, changed\n" });
    await git(copy, "checkout", "--quiet", "feature");
    await git(copy, "merge", "--quiet", "--no-edit", "main");
    await commit(copy, "Third\n\nWith a body.", { "third.txt": "3\n" });
    await git(copy, "push", "--quiet", "origin", "feature");
    await given.world.open();
    const before = await fetched();
    await merged({ mergeStrategy: "REBASE" });
    // The source contained the target already, so it only moved forward.
    expect(await fetched()).to.equal(await fetched("feature"));

    const [branch] = await given.world.branch({ "x.txt": "x\n" });
    await given.world.push(branch, { "y.txt": "y\n" });
    expect(await git(copy, "merge-base", "--is-ancestor", before, "origin/main")).to.equal("");
    await given.world.open({ sourceBranch: { id: branch } });
    await merged({ mergeStrategy: "REBASE" }, 2);
    const log = await git(
      copy,
      "log",
      "--format=%an|%cn|%s",
      `${await fetched("feature")}..${await fetched()}`,
    );
    expect(log.split("\n")).to.deep.equal([
      "Anna Author|bob|Change y.txt",
      "Anna Author|bob|Change x.txt",
    ]);
  });

  it("merges a source without common history", async () => {
    await git(given.world.copy, "checkout", "--quiet", "--orphan", "island");
    await git(given.world.copy, "rm", "-rfq", ".");
    await commit(given.world.copy, "Island", { "island.txt": "i\n" });
    await git(given.world.copy, "push", "--quiet", "origin", "island");
    const opened = await given.world.open({ sourceBranch: { id: "island" } });
    const said = { hasConflicts: false, canMerge: true, hasCommonHistory: false };
    expect(opened).to.include(said);
    expect(await given.world.open()).to.include({ hasCommonHistory: true });
    await merged();
    expect(await git(given.world.copy, "show", `${await fetched()}:island.txt`)).to.equal("i");
  });

  it("removes the source branch on request, unless a rule or another merge request needs it", async () => {
    await given.world.open({ removeSourceBranch: true });
    await merged();
    expect((await given.world.refs()).has("refs/heads/feature")).to.equal(false);

    const [kept] = await given.world.branch({ "k.txt": "k\n" });
    await given.world.open({ sourceBranch: { id: kept } });
    await merged({ removeSourceBranch: false }, 2);
    expect((await given.world.refs()).has(`refs/heads/${kept}`)).to.equal(true);

    const [needed] = await given.world.branch({ "n.txt": "n\n" });
    await given.world.open({ sourceBranch: { id: needed } });
    await given.world.open({ sourceBranch: { id: needed }, targetBranch: { id: kept } });
    await merged({ removeSourceBranch: true }, 3);
    expect((await given.world.refs()).has(`refs/heads/${needed}`)).to.equal(true);

    const [ruled] = await given.world.branch({ "r.txt": "r\n" });
    const rule = { branchTemplate: ruled, allowedToPush: "ADMINS", allowedToMerge: "ADMINS" };
    expect((await given.world.post(anna, "/branch-protection/create", rule)).status).to.equal(200);
    await given.world.open({ sourceBranch: { id: ruled } });
    await merged({ removeSourceBranch: true }, 5);
    expect((await given.world.refs()).has(`refs/heads/${ruled}`)).to.equal(true);
  });
});

describe("merging at the same time", () => {
  it("is done once by two clicks", async () => {
    await given.world.open();
    const answers = await Promise.all([merging({}, anna), merging({}, bob), merging({}, anna)]);
    expect(
      answers.filter(({ status }) => status === 200),
      JSON.stringify(answers.map(codeOf)),
    ).to.have.length(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect([409, 422], answer.text).to.include(answer.status);
    }
    expect(await moves()).to.have.length(1);
    expect((await given.world.get(anna, "/merge-request/1")).body["status"]).to.include({
      id: "MERGED",
    });
  });

  it("of different requests brings all of them in", async () => {
    const branches: string[] = [];
    for (const name of ["x", "y", "z"]) {
      const [branch] = await given.world.branch({ [`${name}.txt`]: name });
      branches.push(branch);
      await given.world.open({ sourceBranch: { id: branch } });
    }
    const answers = await Promise.all([1, 2, 3].map((id) => merging({}, bob, id)));
    expect(
      answers.map(({ status }) => status),
      JSON.stringify(answers.map(codeOf)),
    ).to.deep.equal([200, 200, 200]);
    const head = await fetched();
    for (const branch of branches) {
      await git(given.world.copy, "merge-base", "--is-ancestor", `origin/${branch}`, head);
    }
    expect(await moves()).to.have.length(3);
  });

  /** Merges, and does something between the judgement and the making of the merge, once. */
  async function mergingWhile(happens: () => Promise<unknown>, removeSourceBranch = false) {
    let done = false;
    const ensure: typeof app.deps.git.ensure = async (...args) => {
      if (!done) {
        done = true;
        await happens();
      }
      return app.deps.git.ensure(...args);
    };
    await merge(
      { ...app.deps, git: { ...app.deps.git, ensure } },
      await orderOf(removeSourceBranch),
    );
    expect(done).to.equal(true);
  }

  const orderOf = async (removeSourceBranch: boolean) => {
    const row = await findMergeRequest(app.deps.db, given.world.project.id, 1);
    const messages = { mergeCommitMessage: null, squashCommitMessage: null };
    return {
      mergeRequestId: row!.id,
      project: (await findProjectById(app.deps.db, given.world.project.id))!,
      role: "DEVELOPER" as const,
      userId: bob.id,
      metadata: { ...(await metadataOf()), commandId: randomUUID() },
      choice: { strategy: "MERGE_COMMIT" as const, removeSourceBranch, ...messages },
    };
  };

  it("meets a push into the target at that instant, and loses neither", async () => {
    await given.world.open();
    let pushed = "";
    await mergingWhile(async () => {
      pushed = await given.world.push("main", { "meanwhile.txt": "m\n" });
    });
    const head = await fetched();
    expect(await moves()).to.have.length(2);
    await git(given.world.copy, "merge-base", "--is-ancestor", pushed, head);
    await git(given.world.copy, "merge-base", "--is-ancestor", "origin/feature", head);
  });

  it("does not go through a protected branch by another target between check and merge", async () => {
    await git(given.world.copy, "push", "--quiet", "origin", "main:refs/heads/release");
    const rule = { branchTemplate: "release", allowedToPush: "ADMINS", allowedToMerge: "ADMINS" };
    expect((await given.world.post(anna, "/branch-protection/create", rule)).status).to.equal(200);
    await given.world.open();
    const before = await given.world.refs();
    const retarget = () =>
      given.world.put(anna, "/merge-request/1", { targetBranch: { id: "release" } });
    await expect(mergingWhile(retarget)).to.be.rejectedWith(/BRANCH_NOT_PROTECTED_FOR_USER/);
    const after = await given.world.refs();
    for (const branch of ["refs/heads/main", "refs/heads/release"]) {
      expect(after.get(branch)).to.equal(before.get(branch));
    }
  });

  it("fails where the removal of the source branch is not shown", async () => {
    await given.world.open();
    const visible: typeof app.deps.visible = async (position) => {
      await app.deps.visible(position);
      if (!(await given.world.refs()).has("refs/heads/feature")) throw new Error("behind");
    };
    await expect(merge({ ...app.deps, visible }, await orderOf(true))).to.be.rejectedWith("behind");
  });

  it("leaves the source branch that was to be removed where it was pushed to meanwhile", async () => {
    await given.world.open();
    let pushed = "";
    const visible: typeof app.deps.visible = async (position) => {
      await app.deps.visible(position);
      if (pushed === "" && (await moves()).length > 0) {
        pushed = await given.world.push("feature", { "late.txt": "l\n" });
      }
    };
    await merge({ ...app.deps, visible }, await orderOf(true));
    expect((await given.world.refs()).get("refs/heads/feature")).to.equal(pushed);
    expect((await given.world.get(anna, "/merge-request/1")).body["status"]).to.include({
      id: "MERGED",
    });
  });

  it("does not go through a branch that is protected while it is under way", async () => {
    await given.world.open();
    const project = await findProjectById(app.deps.db, given.world.project.id);
    const rule = { branchTemplate: "main", allowedToPush: "ADMINS", allowedToMerge: "ADMINS" };
    await given.world.post(anna, "/branch-protection/create", rule);
    const before = await fetched();
    const metadata = { ...(await metadataOf()), commandId: randomUUID() };
    const plan = async () => [{ ref: "refs/heads/main", before, after: await fetched("feature") }];
    const order = { project: project!, role: "DEVELOPER", metadata, plan, merging: true } as const;
    await expect(changeRefs(app.deps, order)).to.be.rejectedWith("protected branch");
    expect(await fetched()).to.equal(before);
  });
});
