import { randomUUID } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { checkMerge } from "../../../src/platform/git/merge-commits.ts";
import { mergeTrees } from "../../../src/platform/git/merge-tree.ts";
import { codeOf } from "../../support/app/answer.ts";
import { startTestApp } from "../../support/app/app.ts";
import { git } from "../../support/git/git.ts";
import { type Json, type MergeWorld, mergeWorlds } from "../../support/git/merge-world.ts";
import { skipFor } from "../../support/process/program.ts";

const isWritable = (directory: string): boolean => {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
};
// Git gives a merge program its files in the directory that it runs in.
skipFor(isWritable("/") ? [] : ["this user may not write files at /"]);

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob } = people;

let world: MergeWorld;
beforeEach(async () => {
  world = await newWorld();
});

const repositoryOf = async ({ project }: MergeWorld) => (await app.deps.git.find(project.id))!;
const view = async () => (await world.get(bob, "/merge-request/1")).body;
const reasons = async () =>
  ((await view())["mergeErrors"] as Json[]).map(({ field, code }) => [field, code]);

/** Both branches change a file that git gives to a program, which does this instead of merging. */
async function givenDriver(script: string): Promise<() => Promise<void>> {
  // Commits of one second are the same in each world, and what is known of a pair is remembered.
  await world.push("main", { "a.txt": `elsewhere ${randomUUID()}\n` });
  const { gitDir } = await repositoryOf(world);
  const attributes = path.join(gitDir, "info", "attributes");
  await mkdir(path.dirname(attributes), { recursive: true });
  await writeFile(attributes, "a.txt merge=failing\n");
  await git(gitDir, "config", "merge.failing.driver", script);
  return () => rm(attributes);
}

/** Git ends with an error once the file with the result is gone. */
const failing = (text: string) => `echo '${text}' >&2; rm -f %O %A %B`;

describe("a merge that git fails at", () => {
  it("is refused for the moment when the machine has trouble, and made once it has none", async () => {
    const repaired = await givenDriver(failing("fatal: write error: No space left on device"));
    await world.open();
    expect(await reasons()).to.deep.equal([["NO_CONFLICTS", "merge.unavailable"]]);
    const answer = await world.post(bob, "/merge-request/1/merge");
    expect(codeOf(answer), answer.text).to.deep.equal([503, "merge.unavailable"]);
    expect((await view())["status"]).to.include({ id: "OPENED" });
    await repaired();
    await world.push("main", { "a.txt": "a, changed\n" });
    expect((await world.post(bob, "/merge-request/1/merge")).status).to.equal(200);
  });

  it("is over when git cannot read what is to be merged", async () => {
    await givenDriver(failing("error: unable to read sha1 file of a.txt"));
    await world.open();
    expect(await reasons()).to.deep.equal([["NO_CONFLICTS", "merge.failed"]]);
    const answer = await world.post(bob, "/merge-request/1/merge");
    expect(codeOf(answer), answer.text).to.deep.equal([422, "merge.failed"]);
    const failed = await view();
    expect(failed["status"]).to.include({ id: "FAILED" });
    expect(failed["failureReason"]).to.match(/unable to read/);
  });

  it("names the limit of memory where that ends it", async () => {
    await givenDriver(failing("fatal: Out of memory, malloc failed"));
    await world.open();
    expect(await reasons()).to.deep.equal([["NO_CONFLICTS", "merge.too_complex"]]);
    const answer = await world.post(bob, "/merge-request/1/merge");
    expect(codeOf(answer)).to.deep.equal([422, "merge.requirements"]);
    expect((answer.body["errors"] as Json[])[0]).to.include({ code: "merge.too_complex" });
    expect(answer.body["detail"]).to.match(/more than 2560 MiB of memory/);
  });

  it("names the limit of time where that ends it", async () => {
    await givenDriver("rm -f %O %A %B; exec >/dev/null 2>&1; sleep 10");
    const repository = await repositoryOf(world);
    const [ours = "", theirs = ""] = (await git(world.copy, "rev-parse", "main", "feature")).split(
      "\n",
    );
    const limits = { timeoutMs: 300, memoryBytesMax: 1024 ** 3 };
    const merging = checkMerge(repository, { ours, theirs }, undefined, limits);
    await expect(merging).to.be.rejectedWith(/more than 0.3 seconds/);
  });

  /** A branch whose first commit alone is in conflict with `main`: the second takes it back. */
  const givenDetour = async (script: string): Promise<readonly [branch: string, heavy: string]> => {
    const [branch, heavy] = await world.branch({ "a.txt": `changed ${randomUUID()}\n` });
    await world.push(branch, { "a.txt": "a\n", "other.txt": "other\n" });
    await givenDriver(script);
    return [branch, heavy];
  };

  it("names the limits of a rebase and of a pick, whose single commits take more than the heads", async () => {
    const [branch, heavy] = await givenDetour(failing("fatal: Out of memory, malloc failed"));
    await world.open({ sourceBranch: { id: branch } });
    expect(await view()).to.include({ canMerge: true });
    const rebase = { mergeStrategy: "REBASE" };
    for (const answer of [
      await world.post(bob, "/merge-request/1/merge", rebase),
      await world.post(bob, `/commit/${heavy}/cherry-pick`, { branchName: "main" }),
    ]) {
      expect(codeOf(answer), answer.text).to.deep.equal([422, "merge.too_complex"]);
      expect(answer.body["detail"]).to.match(/more than 2560 MiB of memory/);
    }
  });

  /** Trees that git gives the driver a file of. */
  const givenTrees = async (script: string) => {
    await givenDriver(script);
    const tree = (revision: string) => git(world.copy, "rev-parse", `${revision}^{tree}`);
    const [base, ours, theirs] = await Promise.all(["main^", "main", "feature"].map(tree));
    return { base: base!, ours: ours!, theirs: theirs! };
  };

  it("is ended at what earlier merges left of the time, within the memory of one", async () => {
    const sides = await givenTrees("rm -f %O %A %B; exec >/dev/null 2>&1; sleep 10");
    const repository = await repositoryOf(world);
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
    const repository = await repositoryOf(world);
    const seen = path.join(repository.gitDir, "seen-running");
    const sides = await givenTrees(`echo begin >>${seen}; sleep 0.2; echo end >>${seen}`);
    await Promise.all(Array.from({ length: 5 }, () => mergeTrees(repository, sides)));
    let running = 0;
    const counts = (await readFile(seen, "utf8")).split("\n").filter(Boolean);
    const most = counts.map((said) => (running += said === "begin" ? 1 : -1));
    expect(Math.max(...most), String(counts)).to.equal(2);
  });

  it("says that the target branch is gone", async () => {
    await git(world.copy, "push", "--quiet", "origin", "main:refs/heads/target");
    await world.open({ targetBranch: { id: "target" } });
    await git(world.copy, "push", "--quiet", "origin", ":refs/heads/target");
    expect(await reasons()).to.deep.equal([["NO_CONFLICTS", "branch.not_found"]]);
    const answer = await world.post(bob, "/merge-request/1/merge");
    expect(answer.body["detail"]).to.match(/target branch target does not exist/);
    expect((await world.get(anna, "/merge-request/list")).status).to.equal(200);
  });
});
