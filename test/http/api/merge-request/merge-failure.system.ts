import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { checkMerge } from "../../../../src/git/merge-commits.ts";
import { mergeTrees } from "../../../../src/git/merge-tree.ts";
import { rebase } from "../../../../src/services/merge-request/rebase.ts";
import { codeOf } from "../../../support/app/answer.ts";
import { git } from "../../../support/git/git.ts";
import type { Json } from "../../../support/git/merge-world.ts";
import { failing, givenFailures } from "../../../support/merge-request/failures.ts";

const given = await givenFailures();
const { bob, repositoryOf, view, reasons, givenDriver } = given;

describe("a merge that git fails at", () => {
  it("is refused for the moment when the machine has trouble, and made once it has none", async () => {
    const repaired = await givenDriver(failing("fatal: write error: No space left on device"));
    await given.world.open();
    expect(await reasons()).to.deep.equal([["NO_CONFLICTS", "merge.unavailable"]]);
    const answer = await given.world.post(bob, "/merge-request/1/merge");
    expect(codeOf(answer), answer.text).to.deep.equal([503, "merge.unavailable"]);
    expect((await view())["status"]).to.include({ id: "OPENED" });
    await repaired();
    await given.world.push("main", { "a.txt": "a, changed\n" });
    expect((await given.world.post(bob, "/merge-request/1/merge")).status).to.equal(200);
  });

  it("names the limit of memory where that ends it", async () => {
    await givenDriver(failing("fatal: Out of memory, malloc failed"));
    await given.world.open();
    expect(await reasons()).to.deep.equal([["NO_CONFLICTS", "merge.too_complex"]]);
    const answer = await given.world.post(bob, "/merge-request/1/merge");
    expect(codeOf(answer)).to.deep.equal([422, "merge.requirements"]);
    expect((answer.body["errors"] as Json[])[0]).to.include({ code: "merge.too_complex" });
    expect(answer.body["detail"]).to.match(/more than 2560 MiB of memory/);
  });

  it("names the limit of time where that ends it", async () => {
    await givenDriver("rm -f %O %A %B; exec >/dev/null 2>&1; sleep 10");
    const repository = await repositoryOf(given.world);
    const [ours = "", theirs = ""] = (
      await git(given.world.copy, "rev-parse", "main", "feature")
    ).split("\n");
    const limits = { timeoutMs: 300, memoryBytesMax: 1024 ** 3 };
    const merging = checkMerge(repository, { ours, theirs }, undefined, limits);
    await expect(merging).to.be.rejectedWith(/more than 0.3 seconds/);
  });

  const committer = "Bob <bob@example.org> 0 +0000";

  /** A branch whose first commit alone is in conflict with `main`: the second takes it back. */
  const givenDetour = async (script: string): Promise<readonly [branch: string, heavy: string]> => {
    const [branch, heavy] = await given.world.branch({ "a.txt": `changed ${randomUUID()}\n` });
    await given.world.push(branch, { "a.txt": "a\n", "other.txt": "other\n" });
    await givenDriver(script);
    return [branch, heavy];
  };

  it("names the limits of a rebase and of a pick, whose single commits take more than the heads", async () => {
    const [branch, heavy] = await givenDetour(failing("fatal: Out of memory, malloc failed"));
    await given.world.open({ sourceBranch: { id: branch } });
    expect(await view()).to.include({ canMerge: true });
    const picked = await given.world.post(bob, `/commit/${heavy}/cherry-pick`, {
      branchName: "main",
    });
    expect(codeOf(picked), picked.text).to.deep.equal([422, "merge.too_complex"]);
    expect(picked.body["detail"]).to.match(/more than 2560 MiB of memory/);
    // The check of a request makes it in a repository of its own, which has no such driver.
    const repository = await repositoryOf(given.world);
    const [targetHead = "", sourceCommit = ""] = (
      await git(given.world.copy, "rev-parse", "main", branch)
    ).split("\n");
    const heads = { repository, into: repository, targetHead, sourceCommit, committer };
    await expect(rebase(heads)).to.be.rejectedWith(/more than 2560 MiB of memory/);
  });

  /** Trees that git gives the driver a file of. */
  const givenTrees = async (script: string) => {
    await givenDriver(script);
    const tree = (revision: string) => git(given.world.copy, "rev-parse", `${revision}^{tree}`);
    const [base, ours, theirs] = await Promise.all(["main^", "main", "feature"].map(tree));
    return { base: base!, ours: ours!, theirs: theirs! };
  };

  it("is ended at what earlier merges left of the time, within the memory of one", async () => {
    const sides = await givenTrees("rm -f %O %A %B; exec >/dev/null 2>&1; sleep 10");
    const repository = await repositoryOf(given.world);
    const limits = { timeoutMs: 3_000_000, memoryBytesMax: 1024 ** 3 };
    for (const spentMs of [limits.timeoutMs - 300, limits.timeoutMs]) {
      const merging = mergeTrees(repository, sides, { spentMs, limits });
      await expect(merging).to.be.rejectedWith(/more than 3000 seconds/);
    }
    const seen = path.join(repository.gitDir, "seen-limit");
    await git(repository.gitDir, "config", "merge.failing.driver", `ulimit -v >${seen}`);
    await mergeTrees(repository, sides);
    expect(await readFile(seen, "utf8")).to.equal(`${2_560 * 1024}\n`);
  });

  it("runs at the same time as one other at most", async () => {
    const repository = await repositoryOf(given.world);
    const seen = path.join(repository.gitDir, "seen-running");
    const sides = await givenTrees(`echo begin >>${seen}; sleep 0.2; echo end >>${seen}`);
    await Promise.all(Array.from({ length: 5 }, () => mergeTrees(repository, sides)));
    let running = 0;
    const counts = (await readFile(seen, "utf8")).split("\n").filter(Boolean);
    const most = counts.map((said) => (running += said === "begin" ? 1 : -1));
    expect(Math.max(...most), String(counts)).to.equal(2);
  });
});
