import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { changeRefs } from "../../../src/git/ref-change.ts";
import { findMergeRequest } from "../../../src/projections/merge-request/merge-request-query.ts";
import { findProjectById } from "../../../src/projections/project/project.ts";
import { merge } from "../../../src/workers/merge-request/merge.ts";
import { codeOf } from "../../support/app/answer.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { commit, git } from "../../support/git/git.ts";
import { idOf, type Json, type MergeWorld, mergeWorlds } from "../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;

let world: MergeWorld;
beforeEach(async () => {
  world = await newWorld();
});

const merging = (body: Json = {}, user: TestUser = bob, id: unknown = 1) =>
  world.post(user, `/merge-request/${id}/merge`, body);

async function merged(body: Json = {}, id: unknown = 1): Promise<Json> {
  const answer = await merging(body, bob, id);
  expect(answer.status, answer.text).to.equal(200);
  expect(idOf(answer.body["status"])).to.equal("MERGED");
  return answer.body;
}

/** What the server has of a branch, in the working copy. */
async function fetched(branch = "main"): Promise<string> {
  await git(world.copy, "fetch", "--quiet", "origin");
  return git(world.copy, "rev-parse", `origin/${branch}`);
}

const show = (format: string, what: string) =>
  git(world.copy, "show", "--no-patch", `--format=${format}`, what);
const moves = async () =>
  (await world.recordedChanges()).filter((line) => line.startsWith("BranchUpdated main"));

describe("merging", () => {
  it("makes a commit of both branches by default, with the template's message", async () => {
    await world.open();
    const view = await merged();
    const head = await fetched();
    const feature = await fetched("feature");
    expect(await show("%P", head)).to.equal(`${world.head} ${feature}`);
    expect(await show("%an|%cn", head)).to.equal("anna|bob");
    const path = `anna/${world.project.alias}`;
    expect(await show("%B", head)).to.equal(
      `Merge branch 'feature' into 'main'\n\nFeature\n\nSee merge request ${path}!1`,
    );
    expect(view["mergeCommit"]).to.include({ hash: head });
    expect(view["mergedBy"]).to.include({ id: bob.id });
    expect(await git(world.copy, "show", `${head}:feature.txt`)).to.equal("one");
    expect(await git(world.copy, "ls-remote", "origin", "refs/merge-requests/1/merge")).to.contain(
      head,
    );
    expect(await moves()).to.deep.equal(["BranchUpdated main by bob"]);
  });

  it("squashes into one commit that keeps the author of the request", async () => {
    await world.push("feature", { "second.txt": "2\n" });
    await world.open();
    await merged({ squashCommit: true, squashCommitMessage: "One step" });
    const head = await fetched();
    expect(await show("%P", head)).to.equal(world.head);
    expect(await show("%an|%cn|%s", head)).to.equal("anna|bob|One step");
    const files = await git(world.copy, "ls-tree", "--name-only", head);
    expect(files.split("\n")).to.deep.equal(["a.txt", "feature.txt", "second.txt"]);
  });

  it("fast-forwards only where the target only moves forward", async () => {
    await world.open();
    await world.push("main", { "main.txt": "m\n" });
    const refused = await merging({ mergeStrategy: "FAST_FORWARD" });
    expect(codeOf(refused)).to.deep.equal([409, "merge.not_fast_forward"]);
    await git(world.copy, "checkout", "--quiet", "feature");
    await git(world.copy, "rebase", "--quiet", "main");
    await git(world.copy, "push", "--quiet", "--force", "origin", "feature");
    const view = await merged({ mergeStrategy: "FAST_FORWARD" });
    expect(await fetched()).to.equal(await fetched("feature"));
    expect(view["mergeCommit"]).to.include({ hash: await fetched() });
  });

  it("rebases each commit with its author, leaving out merges and what changes nothing", async () => {
    const { copy } = world;
    await git(copy, "checkout", "--quiet", "feature");
    await commit(copy, "Second", { "second.txt": "2\n" });
    await git(copy, "checkout", "--quiet", "main");
    await world.push("main", { "feature.txt": "one\n", "a.txt": "a, changed\n" });
    await git(copy, "checkout", "--quiet", "feature");
    await git(copy, "merge", "--quiet", "--no-edit", "main");
    await commit(copy, "Third\n\nWith a body.", { "third.txt": "3\n" });
    await git(copy, "push", "--quiet", "origin", "feature");
    await world.open();
    const before = await fetched();
    await merged({ mergeStrategy: "REBASE" });
    // The source contained the target already, so it only moved forward.
    expect(await fetched()).to.equal(await fetched("feature"));

    const [branch] = await world.branch({ "x.txt": "x\n" });
    await world.push(branch, { "y.txt": "y\n" });
    expect(await git(copy, "merge-base", "--is-ancestor", before, "origin/main")).to.equal("");
    await world.open({ sourceBranch: { id: branch } });
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

  it("answers a conflict with the files and changes nothing", async () => {
    await world.open();
    await world.push("main", { "a.txt": "elsewhere\n" });
    const before = await fetched();
    const view = (await world.get(bob, "/merge-request/1")).body;
    expect(view).to.deep.include({ hasConflicts: true, conflicts: ["a.txt"], canMerge: false });
    for (const mergeStrategy of ["MERGE_COMMIT", "SQUASH", "REBASE"]) {
      const answer = await merging({ mergeStrategy });
      expect(codeOf(answer), answer.text).to.deep.equal([409, "merge.conflict"]);
      expect(answer.body["files"]).to.deep.equal(["a.txt"]);
    }
    expect(await fetched()).to.equal(before);
    expect((await world.get(bob, "/merge-request/1")).body["status"]).to.include({ id: "OPENED" });
  });

  it("merges a source without common history", async () => {
    await git(world.copy, "checkout", "--quiet", "--orphan", "island");
    await git(world.copy, "rm", "-rfq", ".");
    await commit(world.copy, "Island", { "island.txt": "i\n" });
    await git(world.copy, "push", "--quiet", "origin", "island");
    const opened = await world.open({ sourceBranch: { id: "island" } });
    const said = { hasConflicts: false, canMerge: true, hasCommonHistory: false };
    expect(opened).to.include(said);
    expect(await world.open()).to.include({ hasCommonHistory: true });
    await merged();
    expect(await git(world.copy, "show", `${await fetched()}:island.txt`)).to.equal("i");
  });

  it("refuses what there is nothing to merge of, and what is over", async () => {
    await git(world.copy, "push", "--quiet", "origin", "main:refs/heads/same");
    const opened = await world.open({ sourceBranch: { id: "same" } });
    expect(opened).to.include({ canMerge: false, hasConflicts: false });
    expect(codeOf(await merging())).to.deep.equal([422, "merge.nothing"]);
    await world.post(anna, "/merge-request/1/close");
    expect(codeOf(await merging())).to.deep.equal([422, "merge_request.closed"]);
    await world.post(anna, "/merge-request/1/cancel");
    expect(codeOf(await merging())).to.deep.equal([422, "merge_request.final"]);
  });

  it("removes the source branch on request, unless a rule or another merge request needs it", async () => {
    await world.open({ removeSourceBranch: true });
    await merged();
    expect((await world.refs()).has("refs/heads/feature")).to.equal(false);

    const [kept] = await world.branch({ "k.txt": "k\n" });
    await world.open({ sourceBranch: { id: kept } });
    await merged({ removeSourceBranch: false }, 2);
    expect((await world.refs()).has(`refs/heads/${kept}`)).to.equal(true);

    const [needed] = await world.branch({ "n.txt": "n\n" });
    await world.open({ sourceBranch: { id: needed } });
    await world.open({ sourceBranch: { id: needed }, targetBranch: { id: kept } });
    await merged({ removeSourceBranch: true }, 3);
    expect((await world.refs()).has(`refs/heads/${needed}`)).to.equal(true);

    const [ruled] = await world.branch({ "r.txt": "r\n" });
    const rule = { branchTemplate: ruled, allowedToPush: "ADMINS", allowedToMerge: "ADMINS" };
    expect((await world.post(anna, "/branch-protection/create", rule)).status).to.equal(200);
    await world.open({ sourceBranch: { id: ruled } });
    await merged({ removeSourceBranch: true }, 5);
    expect((await world.refs()).has(`refs/heads/${ruled}`)).to.equal(true);
  });
});

describe("merging at the same time", () => {
  it("is done once by two clicks", async () => {
    await world.open();
    const answers = await Promise.all([merging({}, anna), merging({}, bob), merging({}, anna)]);
    expect(
      answers.filter(({ status }) => status === 200),
      JSON.stringify(answers.map(codeOf)),
    ).to.have.length(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect([409, 422], answer.text).to.include(answer.status);
    }
    expect(await moves()).to.have.length(1);
    expect((await world.get(anna, "/merge-request/1")).body["status"]).to.include({ id: "MERGED" });
  });

  it("of different requests brings all of them in", async () => {
    const branches: string[] = [];
    for (const name of ["x", "y", "z"]) {
      const [branch] = await world.branch({ [`${name}.txt`]: name });
      branches.push(branch);
      await world.open({ sourceBranch: { id: branch } });
    }
    const answers = await Promise.all([1, 2, 3].map((id) => merging({}, bob, id)));
    expect(
      answers.map(({ status }) => status),
      JSON.stringify(answers.map(codeOf)),
    ).to.deep.equal([200, 200, 200]);
    const head = await fetched();
    for (const branch of branches) {
      await git(world.copy, "merge-base", "--is-ancestor", `origin/${branch}`, head);
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
    const row = await findMergeRequest(app.deps.db, world.project.id, 1);
    const messages = { mergeCommitMessage: null, squashCommitMessage: null };
    return {
      mergeRequestId: row!.id,
      project: (await findProjectById(app.deps.db, world.project.id))!,
      role: "DEVELOPER" as const,
      userId: bob.id,
      metadata: { ...(await metadataOf()), commandId: randomUUID() },
      choice: { strategy: "MERGE_COMMIT" as const, removeSourceBranch, ...messages },
    };
  };

  it("meets a push into the target at that instant, and loses neither", async () => {
    await world.open();
    let pushed = "";
    await mergingWhile(async () => {
      pushed = await world.push("main", { "meanwhile.txt": "m\n" });
    });
    const head = await fetched();
    expect(await moves()).to.have.length(2);
    await git(world.copy, "merge-base", "--is-ancestor", pushed, head);
    await git(world.copy, "merge-base", "--is-ancestor", "origin/feature", head);
  });

  it("does not go through a protected branch by another target between check and merge", async () => {
    await git(world.copy, "push", "--quiet", "origin", "main:refs/heads/release");
    const rule = { branchTemplate: "release", allowedToPush: "ADMINS", allowedToMerge: "ADMINS" };
    expect((await world.post(anna, "/branch-protection/create", rule)).status).to.equal(200);
    await world.open();
    const before = await world.refs();
    const retarget = () => world.put(anna, "/merge-request/1", { targetBranch: { id: "release" } });
    await expect(mergingWhile(retarget)).to.be.rejectedWith(/BRANCH_NOT_PROTECTED_FOR_USER/);
    const after = await world.refs();
    for (const branch of ["refs/heads/main", "refs/heads/release"]) {
      expect(after.get(branch)).to.equal(before.get(branch));
    }
  });

  it("fails where the removal of the source branch is not shown", async () => {
    await world.open();
    const visible: typeof app.deps.visible = async (position) => {
      await app.deps.visible(position);
      if (!(await world.refs()).has("refs/heads/feature")) throw new Error("behind");
    };
    await expect(merge({ ...app.deps, visible }, await orderOf(true))).to.be.rejectedWith("behind");
  });

  it("leaves the source branch that was to be removed where it was pushed to meanwhile", async () => {
    await world.open();
    let pushed = "";
    const visible: typeof app.deps.visible = async (position) => {
      await app.deps.visible(position);
      if (pushed === "" && (await moves()).length > 0) {
        pushed = await world.push("feature", { "late.txt": "l\n" });
      }
    };
    await merge({ ...app.deps, visible }, await orderOf(true));
    expect((await world.refs()).get("refs/heads/feature")).to.equal(pushed);
    expect((await world.get(anna, "/merge-request/1")).body["status"]).to.include({ id: "MERGED" });
  });

  it("is answered again under the same Idempotency-Key", async () => {
    await world.open();
    const send = () => world.post(bob, "/merge-request/1/merge", {}, "merge-once");
    const [one, two] = [await send(), await send()];
    expect(one.status, one.text).to.equal(200);
    expect(two.body).to.deep.equal(one.body);
    expect(await moves()).to.have.length(1);
  });

  it("does not go through a branch that is protected while it is under way", async () => {
    await world.open();
    const project = await findProjectById(app.deps.db, world.project.id);
    const rule = { branchTemplate: "main", allowedToPush: "ADMINS", allowedToMerge: "ADMINS" };
    await world.post(anna, "/branch-protection/create", rule);
    const before = await fetched();
    const metadata = { ...(await metadataOf()), commandId: randomUUID() };
    const plan = async () => [{ ref: "refs/heads/main", before, after: await fetched("feature") }];
    const order = { project: project!, role: "DEVELOPER", metadata, plan, merging: true } as const;
    await expect(changeRefs(app.deps, order)).to.be.rejectedWith("protected branch");
    expect(await fetched()).to.equal(before);
  });
});

const metadataOf = async () => ({
  actor: { userId: bob.id, alias: "bob", via: "token", tokenId: null } as const,
  ip: null,
  correlationId: "test",
  causationId: null,
  schemaVersion: 1,
  occurredAt: new Date().toISOString(),
});

describe("the settings for merging", () => {
  it("say which strategy is taken and which are allowed", async () => {
    const before = (await world.get(carl, "/setting/merge")).body;
    expect(before).to.deep.equal({
      mergeStrategy: "MERGE_COMMIT",
      allowedStrategies: ["MERGE_COMMIT", "SQUASH", "FAST_FORWARD", "REBASE"],
      squash: "ALLOWED",
    });
    const change = {
      mergeStrategy: "FAST_FORWARD",
      allowedStrategies: ["FAST_FORWARD"],
      squash: "NEVER",
    };
    expect((await world.put(anna, "/setting/merge", change)).body).to.deep.equal(change);
    await world.open();
    for (const [body, code] of [
      [{ mergeStrategy: "REBASE" }, "merge.strategy_not_allowed"],
      [{ squashCommit: true }, "merge.squash_not_allowed"],
    ] as const) {
      expect(codeOf(await merging(body))).to.deep.equal([422, code]);
    }
    await merged();
    expect(await fetched()).to.equal(await fetched("feature"));
  });

  it("may demand that every request is squashed", async () => {
    await world.put(anna, "/setting/merge", { squash: "ALWAYS" });
    await world.open();
    expect(codeOf(await merging({ squashCommit: false }))).to.deep.equal([
      422,
      "merge.squash_required",
    ]);
    await merged();
    expect(await show("%P", await fetched())).to.equal(world.head);
  });

  it("are refused when they contradict themselves, and to who is no administrator", async () => {
    const change = { mergeStrategy: "REBASE", allowedStrategies: ["SQUASH"] };
    expect(codeOf(await world.put(anna, "/setting/merge", change))).to.deep.equal([
      422,
      "merge_setting.strategy_not_allowed",
    ]);
    expect(codeOf(await world.put(bob, "/setting/merge", {}))).to.deep.equal([
      403,
      "auth.role_missing",
    ]);
  });

  it("hold templates whose variables are filled once", async () => {
    const templates = {
      mergeCommitMessage:
        "%{title}|%{source_branch}|%{target_branch}|%{local_reference}|%{unknown}\n\n%{description}\n\n%{approved_by}\n\n%{commit_titles}",
      canEditMergeCommitMessage: false,
      mergeRequestDescriptionTemplate: "Why?",
    };
    const put = await world.put(anna, "/setting/merge-message", templates);
    expect(put.body).to.include(templates);
    const opened = await world.open({ title: "%{description}", description: undefined });
    expect(opened["description"]).to.equal("Why?");
    expect(codeOf(await merging({ mergeCommitMessage: "Mine" }))).to.deep.equal([
      422,
      "merge.message_fixed",
    ]);
    await merged();
    expect(await show("%B", await fetched())).to.equal(
      "%{description}|feature|main|!1|%{unknown}\n\nWhy?\n\n* Feature",
    );
  });
});
