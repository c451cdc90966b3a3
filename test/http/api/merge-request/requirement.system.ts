import { expect } from "chai";
import { longestTurnMs } from "../../../support/app/longest-turn.ts";
import { git } from "../../../support/git/git.ts";
import type { Json } from "../../../support/git/merge-world.ts";
import { givenRequirements } from "../../../support/merge-request/requirements.ts";

const given = await givenRequirements();
const { anna, bob, configure, unmet, expectOnly } = given;

describe("the requirements of a merge request", () => {
  it("are met by a merged one; of a closed one only the draft is known", async () => {
    const shown = async () => {
      const { body } = await given.world.get(bob, "/merge-request/1");
      const known = Object.entries(body["mergeRequirements"] as Record<string, boolean>);
      return [known.filter(([, isMet]) => isMet).map(([name]) => name), body["canMerge"]];
    };
    await given.world.open({ title: "Draft: Feature" });
    await given.world.post(anna, "/merge-request/1/close");
    expect(await shown()).to.deep.equal([[], false]);
    await given.world.put(anna, "/merge-request/1", { title: "Feature" });
    expect(await shown()).to.deep.equal([["WORK_NOT_IN_PROGRESS"], false]);
    await given.world.post(anna, "/merge-request/1/reopen");
    expect((await given.world.post(bob, "/merge-request/1/merge")).status).to.equal(200);
    const [met, canMerge] = await shown();
    expect(met).to.have.length(8);
    expect(canMerge).to.equal(false);
  });

  for (const flag of [
    "checkCiCdStatus",
    "branchPipelineStatusCheckEnabled",
    "mergeRequestPipelineStatusCheckEnabled",
  ]) {
    it(`demand a pipeline when ${flag} is on`, async () => {
      await given.world.open();
      await configure({ [flag]: true });
      await expectOnly("LAST_PIPELINE_SUCCESS");
    });
  }

  it("are content with a status from outside by checkCiCdStatus alone, and never with one that failed", async () => {
    await given.world.open();
    const hash = await git(given.world.copy, "rev-parse", "feature");
    const reported = (status: string) =>
      given.world.post(bob, `/commit/${hash}/status`, { name: "outside", status });
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
    await given.world.open();
    await configure({ mergeResultPipelineStatusCheckEnabled: true });
    await expectOnly("MERGE_RESULTS_PIPELINE_SUCCESS");
  });

  for (const [what, body] of [
    ["the flag", { workInProgress: true }],
    ["a title with Draft:", { title: "draft: not yet" }],
    ["a title with WIP:", { title: "WIP: not yet" }],
  ] as const) {
    it(`say that work is in progress by ${what}`, async () => {
      await given.world.open(body);
      await expectOnly("WORK_NOT_IN_PROGRESS");
      await given.world.put(bob, "/merge-request/1", { title: "Ready", workInProgress: false });
      expect(await unmet()).to.deep.equal([]);
    });
  }

  it("hold the target's protection against who merges", async () => {
    await given.world.open();
    const rules = { branchTemplate: "main", allowedToPush: "NO_ONE", allowedToMerge: "ADMINS" };
    expect((await given.world.post(anna, "/branch-protection/create", rules)).status).to.equal(200);
    await expectOnly("BRANCH_NOT_PROTECTED_FOR_USER");
    expect(await unmet(anna)).to.deep.equal([]);
    expect((await given.world.post(anna, "/merge-request/1/merge")).status).to.equal(200);
  });

  it("take no turn for long where CODEOWNERS has thousands of patterns, and say that it is too much", async () => {
    // Every pattern has to be compared with every name.
    const patterns = Array.from({ length: 10_000 }, (_, n) => {
      return `*x${"?".repeat(n % 60)}*${"?x".repeat(n / 300)}*y @dora`;
    });
    await given.world.push("main", { CODEOWNERS: patterns.join("\n") });
    const named = Array.from({ length: 1_000 }, (_, n) => [`${"x".repeat(80)}${n}.txt`, "1\n"]);
    await given.world.push("feature", Object.fromEntries(named));
    const measured = async (run: () => Promise<unknown>) => {
      const before = process.cpuUsage();
      const turnMs = await longestTurnMs(run);
      const { user, system } = process.cpuUsage(before);
      return { turnMs, cpuMs: (user + system) / 1_000 };
    };
    const first = await measured(() => given.world.open());
    expect(first.turnMs).to.be.lessThan(300);
    const again = await measured(() => expectOnly("HAS_ALL_CODEOWNERS"));
    expect(again.cpuMs).to.be.lessThan(first.cpuMs / 3);
    const { body } = await given.world.get(bob, "/merge-request/1");
    const codes = (body["mergeErrors"] as Json[]).map(({ field, code }) => [field, code]);
    expect(codes).to.deep.equal([["HAS_ALL_CODEOWNERS", "code_owners.too_complex"]]);
    const { body: refused } = await given.world.post(bob, "/merge-request/1/merge");
    expect((refused["errors"] as Json[])[0]).to.include({ code: "code_owners.too_complex" });
    expect(refused["detail"]).to.match(/too many patterns/);
  });

  it("ignore a CODEOWNERS file in the source", async () => {
    await given.world.push("feature", { CODEOWNERS: "* @dora\n" });
    await given.world.open();
    expect(await unmet()).to.deep.equal([]);
  });
});

describe("what a merge request changes", () => {
  it("stays what it was after the merge", async () => {
    await given.world.open();
    const [before, commits] = [
      await given.world.get(bob, "/merge-request/1/changes"),
      await given.world.get(bob, "/merge-request/1/commits"),
    ];
    await given.world.post(bob, "/merge-request/1/merge", { removeSourceBranch: true });
    await given.world.push("main", { "later.txt": "l\n" }).catch(() => undefined);
    expect((await given.world.get(bob, "/merge-request/1/changes")).body).to.deep.equal(
      before.body,
    );
    const after = (await given.world.get(bob, "/merge-request/1/commits")).body;
    expect(after["page"]).to.deep.equal(commits.body["page"]);
  });
});
