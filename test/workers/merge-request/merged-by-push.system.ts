import { expect } from "chai";

import { commit } from "../../support/git/git.ts";
import { idOf } from "../../support/git/merge-world.ts";
import { givenPushed } from "../../support/merge-request/pushed.ts";

const given = await givenPushed();
const { anna, bob, look, view, inCopy, push, status, recorded } = given;

/** Commits to `feature` and `main` so that neither is an ancestor of the other; `main` is checked out. */
async function apart(): Promise<void> {
  await given.world.push("feature", { "more.txt": "more\n" });
  await given.world.push("main", { "main.txt": "m\n" });
}

describe("a push to the target that brings what the source has", () => {
  it("merges the request, in the name of the pusher, once", async () => {
    await given.world.open();
    await apart();
    await inCopy("merge", "--quiet", "--no-ff", "-m", "By hand", "feature");
    await inCopy("commit", "--quiet", "--allow-empty", "-m", "Later");
    await push(bob, "main");
    expect(await status()).to.equal("MERGED");
    expect(await status()).to.equal("MERGED");
    const merged = await view();
    expect(merged["mergeCommit"]).to.include({ hash: await inCopy("rev-parse", "main~1") });
    expect(merged["mergedBy"]).to.include({ id: bob.id });
    expect(await recorded("MergeRequestMergedByPush")).to.have.length(1);
    const refs = await inCopy("ls-remote", "origin", "refs/merge-requests/1/merge");
    expect(refs).to.contain(await inCopy("rev-parse", "main~1"));
    expect((await given.world.post(anna, "/merge-request", again)).status).to.equal(200);
  });

  it("is found after a fast-forward, where the last commit of the source brought it", async () => {
    await given.world.open();
    await inCopy("merge", "--quiet", "--ff-only", "feature");
    await push(bob, "main");
    expect(await status()).to.equal("MERGED");
    const head = await inCopy("rev-parse", "feature");
    expect((await view())["mergeCommit"]).to.include({ hash: head });
  });

  for (const [how, ...commands] of [
    ["rebased", ["checkout", "-q", "-B", "main2", "feature"], ["rebase", "-q", "main"]],
    ["picked", ["checkout", "-q", "-B", "main2", "main"], ["cherry-pick", "main..feature"]],
    ["squashed", ["merge", "-q", "--squash", "feature"], ["commit", "-q", "-m", "All at once"]],
  ] as const) {
    it(`is found where the commits were ${how}`, async () => {
      await given.world.open();
      await apart();
      for (const command of commands) await inCopy(...command);
      await commit(given.world.copy, "Later", { "later.txt": "l\n" });
      await push(bob, "HEAD:refs/heads/main");
      expect(await status()).to.equal("MERGED");
      const head = await inCopy("rev-parse", "HEAD~1");
      expect((await view())["mergeCommit"]).to.include({ hash: head });
    });
  }

  it("is found where both branches were pushed at once", async () => {
    await given.world.open();
    await inCopy("checkout", "--quiet", "feature");
    await inCopy("commit", "--quiet", "--allow-empty", "-m", "Not pushed before");
    await push(bob, "feature", "feature:main");
    expect(await status()).to.equal("MERGED");
  });

  it("closes the issues of the request", async () => {
    const issue = { title: "Broken", description: "It is." };
    expect((await given.world.post(anna, "/issue", issue)).status).to.equal(200);
    await given.world.open({ description: "Closes #1" });
    await push(bob, "feature:main");
    await look();
    const { body } = await given.world.get(anna, "/issue/1");
    expect(idOf(body["status"])).to.equal("CLOSED");
  });

  it("merges it with requirements unmet, and records which", async () => {
    await given.world.open({ workInProgress: true });
    await push(bob, "feature:main");
    expect(await status()).to.equal("MERGED");
    const [event] = await recorded("MergeRequestMergedByPush");
    expect(event).to.deep.include({ actor: "bob", unmetRequirements: ["WORK_NOT_IN_PROGRESS"] });
    const files = (await given.world.get(anna, "/merge-request/1/changes")).body["totalAddedLines"];
    expect(files).to.be.greaterThan(0);
  });
});

describe("a push to the target that does not merge a request", () => {
  beforeEach(() => given.world.open());

  it("brings some of the commits only", async () => {
    await apart();
    await inCopy("cherry-pick", "feature~1");
    await push(bob, "main");
    expect(await status()).to.equal("OPENED");
  });

  it("comes with the source being moved to the target, or before it", async () => {
    await given.world.push("main", { "main.txt": "m\n" });
    await push(bob, "main:feature");
    expect(await status()).to.equal("OPENED");
    await given.world.push("main", { "main.txt": "n\n" });
    expect(await status()).to.equal("OPENED");
    await inCopy("commit", "--quiet", "--allow-empty", "-m", "Both");
    await push(bob, "main", "main:feature");
    expect(await status()).to.equal("OPENED");
  });

  it("brings an empty commit, as the request does", async () => {
    await given.world.post(anna, "/merge-request/1/close");
    await inCopy("checkout", "--quiet", "-b", "begun", "main");
    await inCopy("commit", "--quiet", "--allow-empty", "-m", "Begin");
    await push(anna, "begun");
    await given.world.open({ sourceBranch: { id: "begun" } });
    await inCopy("checkout", "--quiet", "main");
    await inCopy("commit", "--quiet", "--allow-empty", "-m", "Trigger");
    await push(bob, "main");
    expect(await status(2)).to.equal("OPENED");
  });

  it("came before the request was opened", async () => {
    await given.world.post(anna, "/merge-request/1/close");
    const [other] = await given.world.branch({ "other.txt": "o\n" });
    await push(bob, `${other}:main`);
    await given.world.open({ sourceBranch: { id: other } });
    expect(await status(2)).to.equal("OPENED");
    expect(await status(1)).to.equal("CLOSED");
  });
});

const again = {
  title: "Again",
  sourceBranch: { id: "feature" },
  targetBranch: { id: "main" },
};
