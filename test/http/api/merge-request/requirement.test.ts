import { expect } from "chai";
import { codeOf } from "../../../support/app/answer.ts";
import type { TestUser } from "../../../support/app/app.ts";
import { git } from "../../../support/git/git.ts";
import type { Json } from "../../../support/git/merge-world.ts";
import { givenRequirements } from "../../../support/merge-request/requirements.ts";

const given = await givenRequirements();
const { app, anna, bob, carl, dora, member, configure, unmet, expectOnly } = given;

const approve = (user: TestUser, body: Json = {}) =>
  given.world.post(user, "/merge-request/1/approve", body);

async function rule(minimalApprovals: number, ...approvers: TestUser[]): Promise<void> {
  const { status, text } = await given.world.post(anna, "/merge-request/approval/rule/create", {
    targetBranch: "main",
    name: `by ${approvers.map(({ alias }) => alias)}`,
    minimalApprovals,
    allowedApproversUuid: approvers.map(({ id }) => id),
  });
  expect(status, text).to.equal(200);
}

describe("the requirements of a merge request", () => {
  it("all hold where nothing is required", async () => {
    await given.world.open();
    expect(await unmet()).to.deep.equal([]);
  });

  it("demand the right to merge, which is missing as every right is", async () => {
    await given.world.open();
    expect(await unmet(carl)).to.deep.equal(["RIGHTS_TO_MERGE"]);
    const answer = await given.world.post(carl, "/merge-request/1/merge");
    expect(codeOf(answer)).to.deep.equal([403, "auth.role_missing"]);
    expect(await unmet(bob)).to.deep.equal([]);
  });

  it("say no to conflicts, as 409 with the files when nothing else does", async () => {
    await given.world.open();
    await given.world.push("main", { "a.txt": "elsewhere\n" });
    expect(await unmet()).to.deep.equal(["NO_CONFLICTS"]);
    await given.world.put(anna, "/merge-request/1", { workInProgress: true });
    const answer = await given.world.post(bob, "/merge-request/1/merge");
    expect(codeOf(answer)).to.deep.equal([422, "merge.requirements"]);
    expect(answer.body["files"]).to.deep.equal(["a.txt"]);
  });

  it("demand the approvals of every rule for the branch", async () => {
    await given.world.open();
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
    await given.world.push("main", { CODEOWNERS: owners });
    await given.world.open();
    await expectOnly("HAS_ALL_CODEOWNERS");
    await member(carl, "DEVELOPER");
    await app.put(given.world.at("/member/role"), {
      token: anna.token,
      body: { userAlias: carl.alias, role: "DEVELOPER" },
    });
    await approve(dora);
    await expectOnly("HAS_ALL_CODEOWNERS");
    await approve(carl);
    expect(await unmet()).to.deep.equal([]);
  });
});

describe("approving", () => {
  beforeEach(async () => {
    await given.world.open();
  });

  const approvals = async () => {
    const { body } = await given.world.get(bob, "/merge-request/1/approvals");
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
    await git(given.world.copy, "config", "user.email", "bob@example.org");
    const env = ["-c", "user.name=Bob", "-c", "user.email=bob@example.org"];
    await git(given.world.copy, "checkout", "--quiet", "feature");
    await git(
      given.world.copy,
      ...env,
      "commit",
      "--quiet",
      "--amend",
      "--reset-author",
      "-m",
      "By Bob",
    );
    await git(given.world.copy, "push", "--quiet", "--force", "origin", "feature");
    expect(codeOf(await approve(anna))).to.deep.equal([422, "approval.own"]);
  });

  it("stops counting with the role", async () => {
    await rule(1, dora, bob);
    await approve(dora);
    expect(await unmet()).to.deep.equal([]);
    await app.delete(given.world.at("/member/dora"), { token: anna.token });
    expect(await approvals()).to.deep.equal([["dora", false]]);
    await expectOnly("HAS_ALL_APPROVERS");
    expect(codeOf(await approve(dora))).to.deep.equal([403, "auth.role_missing"]);
  });

  const rules = async () => {
    const { body } = await given.world.get(carl, "/merge-request/1/approvals");
    return (body["rules"] as Json[]).map(({ approved, mayApprove, ...rest }) => ({
      ...{ approved, mayApprove, fulfilled: rest["fulfilled"], unmeetable: rest["unmeetable"] },
    }));
  };
  const named = (users: unknown) => (users as Json[]).map(({ username }) => username);

  it("is shown for each rule: who gave it, who may still, and whether anybody can", async () => {
    await rule(1, dora, bob);
    await approve(dora);
    const [first] = await rules();
    expect([named(first?.approved), named(first?.mayApprove)]).to.deep.equal([["dora"], ["bob"]]);
    expect(first).to.include({ fulfilled: true, unmeetable: false });
    await app.delete(given.world.at("/member/dora"), { token: anna.token });
    await app.delete(given.world.at("/member/bob"), { token: anna.token });
    const [gone] = await rules();
    expect(gone).to.deep.include({ fulfilled: false, unmeetable: true, mayApprove: [] });
    // Nobody is left, so nobody is waited for.
    expect(await unmet(anna)).to.deep.equal([]);
  });

  it("is waited for where the configuration is what leaves nobody to give it", async () => {
    await configure({ preventAuthorApproving: true });
    await rule(1, anna);
    await expectOnly("HAS_ALL_APPROVERS");
    const { body } = await given.world.get(bob, "/merge-request/1");
    const [error] = body["mergeErrors"] as Json[];
    expect(error).to.include({ code: "approval.unmeetable", requirement: "HAS_ALL_APPROVERS" });
    expect(error).to.have.property("rule");
    expect((await rules())[0]).to.include({ fulfilled: false, unmeetable: true });
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
    await git(given.world.copy, "push", "--quiet", "origin", "main:refs/heads/release");
    await approve(bob);
    await given.world.push("feature", { "more.txt": "1\n" });
    expect(await approvals()).to.deep.equal([["bob", true]]);
    await given.world.get(bob, "/merge-request/1");
    expect(await approvals()).to.deep.equal([]);
    await approve(bob);
    await given.world.put(anna, "/merge-request/1", { targetBranch: { id: "release" } });
    expect(await approvals()).to.deep.equal([]);
    await configure({ removeApprovalsOnPush: false, removeApprovalsOnChangingTargetBranch: false });
    await approve(bob);
    await given.world.push("feature", { "more.txt": "2\n" });
    await given.world.put(anna, "/merge-request/1", { targetBranch: { id: "main" } });
    expect(await approvals()).to.deep.equal([["bob", true]]);
  });

  it("follows rules of the request's own where they may be overridden", async () => {
    await rule(1, dora);
    const rules = [{ name: "Own", minimalApprovals: 1, allowedApproversUuid: [carl.id] }];
    const put = (body: Json) => given.world.put(anna, "/merge-request/1/approval-rule", body);
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
    expect((await given.world.post(bob, "/merge-request/1/merge")).status).to.equal(200);
    const edit = () => given.world.put(anna, "/merge-request/1", { title: "Later" });
    expect(codeOf(await edit())).to.deep.equal([422, "merge_request.final"]);
    await configure({ editMergedMergeRequest: true });
    expect((await edit()).body).to.include({ title: "Later" });
    const retarget = await given.world.put(anna, "/merge-request/1", {
      targetBranch: { id: "feature" },
    });
    expect(retarget.status).to.equal(422);
    expect(codeOf(await approve(bob))).to.deep.equal([422, "merge_request.final"]);
  });
});

describe("what a merge request changes", () => {
  it("is listed against the common ancestor, with totals and the lines of one file", async () => {
    await given.world.push("main", { "other.txt": "not of the request\n" });
    await given.world.open();
    const { body } = await given.world.get(carl, "/merge-request/1/changes?size=1");
    expect(body).to.deep.include({ totalAddedLines: 2, totalRemovedLines: 1 });
    expect(body["page"]).to.deep.equal({ size: 1, totalElements: 2, totalPages: 2, number: 0 });
    expect((body["commitBlobs"] as Json[])[0]).to.deep.include({ newPath: "a.txt", lines: [] });
    const one = await given.world.get(carl, "/merge-request/1/changes?filePath=feature.txt");
    const [file] = one.body["commitBlobs"] as Json[];
    expect(file).to.include({ changeType: "ADD", addedLinesCount: 1 });
    expect((file!["lines"] as Json[]).map(({ body: text, op }) => [text, op])).to.deep.equal([
      ["one", "add"],
    ]);
    const commits = await given.world.get(carl, "/merge-request/1/commits");
    const { commitList } = commits.body["_embedded"] as Record<string, Json[]>;
    expect(commitList!.map(({ shortMessage }) => shortMessage)).to.deep.equal(["Feature"]);
  });
});
