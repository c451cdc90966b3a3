import { expect } from "chai";

import { codeOf } from "../../support/app/answer.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { longestTurnMs } from "../../support/app/longest-turn.ts";
import { git } from "../../support/git/git.ts";
import { type Json, type MergeWorld, mergeWorlds } from "../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;
const dora = await app.givenUser("dora");

let world: MergeWorld;
beforeEach(async () => {
  world = await newWorld();
  await member(dora, "DEVELOPER");
});

const member = (user: TestUser, role: string) =>
  world.post(anna, "/member/invite", { userAlias: user.alias, role });
const approve = (user: TestUser, body: Json = {}) =>
  world.post(user, "/merge-request/1/approve", body);

async function configure(change: Json): Promise<void> {
  const at = world.at("/merge-request/approval/configuration/edit");
  const { status, text } = await app.send("PATCH", at, { token: anna.token, body: change });
  expect(status, text).to.equal(200);
}

async function rule(minimalApprovals: number, ...approvers: TestUser[]): Promise<void> {
  const { status, text } = await world.post(anna, "/merge-request/approval/rule/create", {
    targetBranch: "main",
    name: `by ${approvers.map(({ alias }) => alias)}`,
    minimalApprovals,
    allowedApproversUuid: approvers.map(({ id }) => id),
  });
  expect(status, text).to.equal(200);
}

/** Names of the requirements that do not hold for a user. */
async function unmet(user: TestUser = bob): Promise<readonly string[]> {
  const { body } = await world.get(user, "/merge-request/1");
  const requirements = Object.entries(body["mergeRequirements"] as Record<string, boolean>);
  const names = requirements.flatMap(([name, isMet]) => (isMet ? [] : [name]));
  expect(requirements).to.have.length(8);
  expect(body["canMerge"]).to.equal(names.length === 0);
  return names;
}

/** One requirement alone says no, and merging names it. */
async function expectOnly(name: string, user: TestUser = bob): Promise<void> {
  expect(await unmet(user)).to.deep.equal([name]);
  const answer = await world.post(user, "/merge-request/1/merge");
  expect(codeOf(answer), answer.text).to.deep.equal([422, "merge.requirements"]);
  const errors = answer.body["errors"] as Json[];
  expect(errors.map(({ field }) => field)).to.deep.equal([name]);
}

describe("the requirements of a merge request", () => {
  it("are met by a merged one; of a closed one only the draft is known", async () => {
    const shown = async () => {
      const { body } = await world.get(bob, "/merge-request/1");
      const known = Object.entries(body["mergeRequirements"] as Record<string, boolean>);
      return [known.filter(([, isMet]) => isMet).map(([name]) => name), body["canMerge"]];
    };
    await world.open({ title: "Draft: Feature" });
    await world.post(anna, "/merge-request/1/close");
    expect(await shown()).to.deep.equal([[], false]);
    await world.put(anna, "/merge-request/1", { title: "Feature" });
    expect(await shown()).to.deep.equal([["WORK_NOT_IN_PROGRESS"], false]);
    await world.post(anna, "/merge-request/1/reopen");
    expect((await world.post(bob, "/merge-request/1/merge")).status).to.equal(200);
    const [met, canMerge] = await shown();
    expect(met).to.have.length(8);
    expect(canMerge).to.equal(false);
  });

  it("all hold where nothing is required", async () => {
    await world.open();
    expect(await unmet()).to.deep.equal([]);
  });

  for (const flag of [
    "checkCiCdStatus",
    "branchPipelineStatusCheckEnabled",
    "mergeRequestPipelineStatusCheckEnabled",
  ]) {
    it(`demand a pipeline when ${flag} is on`, async () => {
      await world.open();
      await configure({ [flag]: true });
      await expectOnly("LAST_PIPELINE_SUCCESS");
    });
  }

  it("are content with a status from outside by checkCiCdStatus alone, and never with one that failed", async () => {
    await world.open();
    const hash = await git(world.copy, "rev-parse", "feature");
    const reported = (status: string) =>
      world.post(bob, `/commit/${hash}/status`, { name: "outside", status });
    expect((await reported("SUCCESS")).status).to.equal(200);
    await configure({ checkCiCdStatus: true });
    expect(await unmet()).to.deep.equal([]);
    for (const flag of [
      "branchPipelineStatusCheckEnabled",
      "mergeRequestPipelineStatusCheckEnabled",
    ]) {
      await configure({ [flag]: true });
      await expectOnly("LAST_PIPELINE_SUCCESS");
      await configure({ [flag]: false });
    }
    await configure({ checkCiCdStatus: false });
    expect(await unmet()).to.deep.equal([]);
    await reported("FAILED");
    expect(await unmet()).to.include("LAST_PIPELINE_SUCCESS");
  });

  it("demand a pipeline of the merge result when that is configured", async () => {
    await world.open();
    await configure({ mergeResultPipelineStatusCheckEnabled: true });
    await expectOnly("MERGE_RESULTS_PIPELINE_SUCCESS");
  });

  for (const [what, body] of [
    ["the flag", { workInProgress: true }],
    ["a title with Draft:", { title: "draft: not yet" }],
    ["a title with WIP:", { title: "WIP: not yet" }],
  ] as const) {
    it(`say that work is in progress by ${what}`, async () => {
      await world.open(body);
      await expectOnly("WORK_NOT_IN_PROGRESS");
      await world.put(bob, "/merge-request/1", { title: "Ready", workInProgress: false });
      expect(await unmet()).to.deep.equal([]);
    });
  }

  it("demand the right to merge", async () => {
    await world.open();
    await expectOnly("RIGHTS_TO_MERGE", carl);
    expect(await unmet(bob)).to.deep.equal([]);
  });

  it("say no to conflicts, as 409 with the files when nothing else does", async () => {
    await world.open();
    await world.push("main", { "a.txt": "elsewhere\n" });
    expect(await unmet()).to.deep.equal(["NO_CONFLICTS"]);
    await world.put(anna, "/merge-request/1", { workInProgress: true });
    const answer = await world.post(bob, "/merge-request/1/merge");
    expect(codeOf(answer)).to.deep.equal([422, "merge.requirements"]);
    expect(answer.body["files"]).to.deep.equal(["a.txt"]);
  });

  it("hold the target's protection against who merges", async () => {
    await world.open();
    const rules = { branchTemplate: "main", allowedToPush: "NO_ONE", allowedToMerge: "ADMINS" };
    expect((await world.post(anna, "/branch-protection/create", rules)).status).to.equal(200);
    await expectOnly("BRANCH_NOT_PROTECTED_FOR_USER");
    expect(await unmet(anna)).to.deep.equal([]);
    expect((await world.post(anna, "/merge-request/1/merge")).status).to.equal(200);
  });

  it("demand the approvals of every rule for the branch", async () => {
    await world.open();
    await rule(1, bob, carl);
    await rule(1, dora);
    await expectOnly("HAS_ALL_APPROVERS");
    expect((await approve(carl)).status).to.equal(200);
    await expectOnly("HAS_ALL_APPROVERS");
    expect((await approve(dora)).status).to.equal(200);
    expect(await unmet()).to.deep.equal([]);
    // The same again takes the approval back.
    await approve(carl);
    await expectOnly("HAS_ALL_APPROVERS");
  });

  it("demand the owners that CODEOWNERS of the target names", async () => {
    const owners = "*.md @nobody-there\n\n[Code][2]\nfeature.txt @dora @carl\n\n^[May]\n* @anna\n";
    await world.push("main", { CODEOWNERS: owners });
    await world.open();
    await expectOnly("HAS_ALL_CODEOWNERS");
    await member(carl, "DEVELOPER");
    await app.put(world.at("/member/role"), {
      token: anna.token,
      body: { userAlias: carl.alias, role: "DEVELOPER" },
    });
    await approve(dora);
    await expectOnly("HAS_ALL_CODEOWNERS");
    await approve(carl);
    expect(await unmet()).to.deep.equal([]);
  });

  it("take no turn for long where CODEOWNERS has thousands of patterns, and say that it is too much", async () => {
    // Every pattern has to be compared with every name.
    const patterns = Array.from({ length: 10_000 }, (_, n) => {
      return `*x${"?".repeat(n % 60)}*${"?x".repeat(n / 300)}*y @dora`;
    });
    await world.push("main", { CODEOWNERS: patterns.join("\n") });
    const named = Array.from({ length: 1_000 }, (_, n) => [`${"x".repeat(80)}${n}.txt`, "1\n"]);
    await world.push("feature", Object.fromEntries(named));
    const measured = async (run: () => Promise<unknown>) => {
      const before = process.cpuUsage();
      const turnMs = await longestTurnMs(run);
      const { user, system } = process.cpuUsage(before);
      return { turnMs, cpuMs: (user + system) / 1_000 };
    };
    const first = await measured(() => world.open());
    expect(first.turnMs).to.be.lessThan(300);
    const again = await measured(() => expectOnly("HAS_ALL_CODEOWNERS"));
    expect(again.cpuMs).to.be.lessThan(first.cpuMs / 3);
    const { body } = await world.get(bob, "/merge-request/1");
    const codes = (body["mergeErrors"] as Json[]).map(({ field, code }) => [field, code]);
    expect(codes).to.deep.equal([["HAS_ALL_CODEOWNERS", "code_owners.too_complex"]]);
    const { body: refused } = await world.post(bob, "/merge-request/1/merge");
    expect((refused["errors"] as Json[])[0]).to.include({ code: "code_owners.too_complex" });
    expect(refused["detail"]).to.match(/too many patterns/);
  });

  it("ignore a CODEOWNERS file in the source", async () => {
    await world.push("feature", { CODEOWNERS: "* @dora\n" });
    await world.open();
    expect(await unmet()).to.deep.equal([]);
  });
});

describe("approving", () => {
  beforeEach(async () => {
    await world.open();
  });

  const approvals = async () => {
    const { body } = await world.get(bob, "/merge-request/1/approvals");
    const { mergeRequestApprovalList: list } = body["_embedded"] as Record<string, Json[]>;
    return list!.map(({ user, counts }) => [(user as Json)["username"], counts]);
  };

  it("is for developers and for those whom a rule names", async () => {
    expect(codeOf(await approve(carl))).to.deep.equal([403, "auth.role_missing"]);
    await rule(1, carl);
    expect((await approve(carl)).status).to.equal(200);
    expect((await approve(bob)).status).to.equal(200);
    expect(await approvals()).to.deep.equal([
      ["carl", true],
      ["bob", true],
    ]);
  });

  it("of one's own request or commits is refused where the configuration forbids it", async () => {
    expect((await approve(anna)).status).to.equal(200);
    await configure({ preventAuthorApproving: true });
    expect(await approvals()).to.deep.equal([["anna", false]]);
    await approve(bob);
    await configure({ preventCommitterApproving: true });
    await git(world.copy, "config", "user.email", "bob@example.org");
    const env = ["-c", "user.name=Bob", "-c", "user.email=bob@example.org"];
    await git(world.copy, "checkout", "--quiet", "feature");
    await git(world.copy, ...env, "commit", "--quiet", "--amend", "--reset-author", "-m", "By Bob");
    await git(world.copy, "push", "--quiet", "--force", "origin", "feature");
    expect(codeOf(await approve(anna))).to.deep.equal([422, "approval.own"]);
  });

  it("stops counting with the role", async () => {
    await rule(1, dora);
    await approve(dora);
    expect(await unmet()).to.deep.equal([]);
    await app.delete(world.at("/member/dora"), { token: anna.token });
    expect(await approvals()).to.deep.equal([["dora", false]]);
    await expectOnly("HAS_ALL_APPROVERS");
    expect(codeOf(await approve(dora))).to.deep.equal([403, "auth.role_missing"]);
  });

  it("requires the password where that is configured", async () => {
    await configure({ requirePasswordToApprove: true });
    expect(codeOf(await approve(bob))).to.deep.equal([422, "approval.password_wrong"]);
    expect(codeOf(await approve(bob, { password: "guess" }))).to.deep.equal([
      422,
      "approval.password_wrong",
    ]);
    expect((await approve(bob, { password: bob.password })).status).to.equal(200);
  });

  it("is void after a push and another target, unless configured otherwise", async () => {
    await git(world.copy, "push", "--quiet", "origin", "main:refs/heads/release");
    await approve(bob);
    await world.push("feature", { "more.txt": "1\n" });
    expect(await approvals()).to.deep.equal([["bob", true]]);
    await world.get(bob, "/merge-request/1");
    expect(await approvals()).to.deep.equal([]);
    await approve(bob);
    await world.put(anna, "/merge-request/1", { targetBranch: { id: "release" } });
    expect(await approvals()).to.deep.equal([]);
    await configure({ removeApprovalsOnPush: false, removeApprovalsOnChangingTargetBranch: false });
    await approve(bob);
    await world.push("feature", { "more.txt": "2\n" });
    await world.put(anna, "/merge-request/1", { targetBranch: { id: "main" } });
    expect(await approvals()).to.deep.equal([["bob", true]]);
  });

  it("follows rules of the request's own where they may be overridden", async () => {
    await rule(1, dora);
    const rules = [{ name: "Own", minimalApprovals: 1, allowedApproversUuid: [carl.id] }];
    const put = (body: Json) => world.put(anna, "/merge-request/1/approval-rule", body);
    expect(codeOf(await put({ rules }))).to.deep.equal([422, "approval.not_overridable"]);
    await configure({ canOverrideApprovals: true });
    const tooMany = [{ ...rules[0], minimalApprovals: 2 }];
    expect(codeOf(await put({ rules: tooMany }))).to.deep.equal([422, "approval.unreachable"]);
    expect((await put({ rules })).status).to.equal(200);
    await approve(carl);
    expect(await unmet()).to.deep.equal([]);
    await configure({ canOverrideApprovals: false });
    await expectOnly("HAS_ALL_APPROVERS");
    await configure({ canOverrideApprovals: true });
    await put({ rules: null });
    await expectOnly("HAS_ALL_APPROVERS");
  });

  it("leaves merged requests editable only where the configuration allows it", async () => {
    expect((await world.post(bob, "/merge-request/1/merge")).status).to.equal(200);
    const edit = () => world.put(anna, "/merge-request/1", { title: "Later" });
    expect(codeOf(await edit())).to.deep.equal([422, "merge_request.final"]);
    await configure({ editMergedMergeRequest: true });
    expect((await edit()).body).to.include({ title: "Later" });
    const retarget = await world.put(anna, "/merge-request/1", { targetBranch: { id: "feature" } });
    expect(retarget.status).to.equal(422);
    expect(codeOf(await approve(bob))).to.deep.equal([422, "merge_request.final"]);
  });
});

describe("what a merge request changes", () => {
  it("is listed against the common ancestor, with totals and the lines of one file", async () => {
    await world.push("main", { "other.txt": "not of the request\n" });
    await world.open();
    const { body } = await world.get(carl, "/merge-request/1/changes?size=1");
    expect(body).to.deep.include({ totalAddedLines: 2, totalRemovedLines: 1 });
    expect(body["page"]).to.deep.equal({ size: 1, totalElements: 2, totalPages: 2, number: 0 });
    expect((body["commitBlobs"] as Json[])[0]).to.deep.include({ newPath: "a.txt", lines: [] });
    const one = await world.get(carl, "/merge-request/1/changes?filePath=feature.txt");
    const [file] = one.body["commitBlobs"] as Json[];
    expect(file).to.include({ changeType: "ADD", addedLinesCount: 1 });
    expect((file!["lines"] as Json[]).map(({ body: text, op }) => [text, op])).to.deep.equal([
      ["one", "add"],
    ]);
    const commits = await world.get(carl, "/merge-request/1/commits");
    const { commitList } = commits.body["_embedded"] as Record<string, Json[]>;
    expect(commitList!.map(({ shortMessage }) => shortMessage)).to.deep.equal(["Feature"]);
  });

  it("stays what it was after the merge", async () => {
    await world.open();
    const [before, commits] = [
      await world.get(bob, "/merge-request/1/changes"),
      await world.get(bob, "/merge-request/1/commits"),
    ];
    await world.post(bob, "/merge-request/1/merge", { removeSourceBranch: true });
    await world.push("main", { "later.txt": "l\n" }).catch(() => undefined);
    expect((await world.get(bob, "/merge-request/1/changes")).body).to.deep.equal(before.body);
    const after = (await world.get(bob, "/merge-request/1/commits")).body;
    expect(after["page"]).to.deep.equal(commits.body["page"]);
  });
});
