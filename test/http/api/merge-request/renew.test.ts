import { expect } from "chai";

import { codeOf } from "../../../support/app/answer.ts";
import { git } from "../../../support/git/git.ts";
import { givenMerging } from "../../../support/merge-request/merging.ts";

const given = await givenMerging();
const { anna, bob, carl, merged, fetched, show } = given;

const renew = (verb: string, user = bob, body = {}, key?: string) =>
  given.world.post(user, `/merge-request/1/${verb}`, body, key);

const moves = async () =>
  (await given.world.recordedChanges()).filter((line) => line.includes("Updated feature"));

const protect = (rule: object) =>
  given.world.post(anna, "/branch-protection/create", { branchTemplate: "feature", ...rule });

describe("bringing the source of a request up to date", () => {
  beforeEach(async () => {
    await given.world.open();
    await given.world.push("main", { "main.txt": "m\n" });
  });

  it("rebases its commits on the target, in the caller's name", async () => {
    await given.world.put(anna, "/setting/merge", {
      mergeStrategy: "FAST_FORWARD",
      allowedStrategies: ["FAST_FORWARD"],
    });
    const answer = await renew("rebase");
    expect(answer.status, answer.text).to.equal(200);
    const head = await fetched("feature");
    expect(answer.body["sourceBranch"]).to.include({ hash: head });
    expect(answer.body).to.include({ canMerge: true });
    expect(await show("%P|%an|%cn", head)).to.equal(`${await fetched()}|Anna Author|bob`);
    expect(await moves()).to.deep.equal(["BranchUpdated feature by bob"]);
    await merged();
  });

  it("merges the target into it", async () => {
    const before = await fetched("feature");
    const answer = await renew("update");
    expect(answer.status, answer.text).to.equal(200);
    const head = await fetched("feature");
    expect(await show("%P|%an|%s", head)).to.equal(
      `${before} ${await fetched()}|bob|Merge branch 'main' into feature`,
    );
    expect(answer.body["sourceBranch"]).to.include({ hash: head });
    for (const verb of ["update", "rebase"]) expect((await renew(verb)).status).to.equal(200);
    expect(await moves()).to.have.length(1);
  });

  it("is done once under a key, of the version that was seen", async () => {
    const sha = await fetched("feature");
    const main = await fetched();
    expect(codeOf(await renew("rebase", bob, { sha: main }))).to.deep.equal([
      409,
      "merge_request.changed",
    ]);
    const first = await renew("rebase", bob, { sha }, "once");
    const again = await renew("rebase", bob, { sha }, "once");
    expect([first.status, again.body]).to.deep.equal([200, first.body]);
  });

  it("names the files in conflict and changes nothing", async () => {
    await given.world.push("main", { "a.txt": "elsewhere\n" });
    const before = await fetched("feature");
    for (const verb of ["rebase", "update"]) {
      const answer = await renew(verb);
      expect(codeOf(answer)).to.deep.equal([409, "merge.conflict"]);
      expect(answer.body["files"]).to.deep.equal(["a.txt"]);
    }
    expect(await fetched("feature")).to.equal(before);
  });

  it("needs the right to push to the source, and follows its protection", async () => {
    expect(codeOf(await renew("rebase", carl))).to.deep.equal([403, "auth.role_missing"]);
    await protect({ allowForcePush: false, allowedToPush: "DEVELOPER" });
    expect(codeOf(await renew("rebase"))).to.deep.equal([403, "branch.protected"]);
    expect((await renew("update")).status).to.equal(200);
    await given.world.post(anna, "/merge-request/1/close");
    expect(codeOf(await renew("update"))).to.deep.equal([422, "merge_request.closed"]);
  });

  it("moves a source behind the target to it", async () => {
    await given.world.post(anna, "/merge-request/1/close");
    await git(given.world.copy, "push", "--quiet", "origin", "main~1:refs/heads/behind");
    await given.world.open({ sourceBranch: { id: "behind" } });
    const answer = await given.world.post(bob, "/merge-request/2/update");
    expect(answer.status, answer.text).to.equal(200);
    expect(await fetched("behind")).to.equal(await fetched());
  });
});
