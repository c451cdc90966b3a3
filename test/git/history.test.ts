import { randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { lastCommit, listCommits, mergeBase } from "../../src/git/history.ts";
import { openGit } from "../../src/git/repositories.ts";
import type { Repository } from "../../src/git/repository.ts";
import { runGit } from "../../src/git/run.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

const dataDir = await temporaryDirectory();
const repositories = openGit({ dataDir, log: { warn: () => undefined } });
after(() => repositories.close());

let repository: Repository;
let copy: string;
let first: string;
let second: string;
let third: string;

before(async () => {
  repository = await repositories.ensure(randomUUID(), "main");
  copy = await workingCopy(dataDir, "copy");
  first = await commit(copy, "First", { "a.txt": "a\n", 'o"dd\nname': "1\n" });
  second = await commit(copy, "Second", { "a.txt": "aa\n", "d/b.txt": "b\n" });
  await git(copy, "rm", "--quiet", "d/b.txt");
  third = await commit(copy, "Third");
  await git(copy, "push", "--quiet", repository.gitDir, "main");
});

const page = async (from: string, offset: number, size: number, file?: string) => {
  const { commits, total } = await listCommits(repository, { from, path: file }, { offset, size });
  return [total, ...commits.map(({ id }) => id)];
};

describe("the history of a commit", () => {
  it("is listed newest first, by page, and counted", async () => {
    expect(await page(third, 0, 10)).to.deep.equal([3, third, second, first]);
    expect(await page(third, 1, 1)).to.deep.equal([3, second]);
    expect(await page(third, 3, 10)).to.deep.equal([3]);
    expect(await page(third, 2 ** 40, 200)).to.deep.equal([3]);
    expect(await page(second, 0, 10)).to.deep.equal([2, second, first]);
  });

  it("is that of a path, whose text is no pattern and no option", async () => {
    expect(await page(third, 0, 10, "a.txt")).to.deep.equal([2, second, first]);
    expect(await page(third, 0, 10, 'o"dd\nname')).to.deep.equal([1, first]);
    for (const name of ["--all", ":(top)a.txt", "*.txt", "-n1"]) {
      expect(await page(third, 0, 10, name), name).to.deep.equal([0]);
    }
  });

  it("is the same across the boundary of one query of git", async () => {
    const long = await repositories.ensure(randomUUID(), "main");
    const count = 2_050;
    const stream = Array.from(
      { length: count },
      (_, index) =>
        `commit refs/heads/main\nmark :${index + 1}\ncommitter A <a@b> ${1_700_000_000 + index} +0000\n` +
        `data 1\nx\n${index === 0 ? "" : `from :${index}\n`}\n`,
    );
    const { spawnSync } = await import("node:child_process");
    spawnSync("git", ["fast-import", "--quiet"], { cwd: long.gitDir, input: stream.join("") });
    const ids = (await git(long.gitDir, "rev-list", "main")).split("\n");
    const at = { from: ids[0]! };
    for (const offset of [0, 900, 999, 1_000, 1_950, 2_049]) {
      const { commits, total } = await listCommits(long, at, { offset, size: 200 });
      expect(total).to.equal(count);
      expect(commits.map(({ id }) => id)).to.deep.equal(ids.slice(offset, offset + 200));
    }
  });

  it("starts no process when it is requested again", async () => {
    await page(third, 0, 10);
    await page(third, 0, 10, "a.txt");
    const children = await startedWhile(async () => {
      await page(third, 0, 2);
      await page(third, 1, 2);
      await page(third, 0, 1, "a.txt");
    });
    expect(children).to.equal(0);
    expect(await startedWhile(() => page(third, 0, 10, "never-asked"))).to.be.greaterThan(0);
  });
});

/** Processes of any kind that this one started meanwhile, as the kernel counts them. */
async function startedWhile(run: () => Promise<unknown>): Promise<number> {
  const { syncBuiltinESMExports } = await import("node:module");
  const processes = await import("node:child_process");
  const real = processes.default.spawn;
  let count = 0;
  processes.default.spawn = ((...args: Parameters<typeof real>) => {
    count += 1;
    return real(...args);
  }) as typeof real;
  syncBuiltinESMExports();
  try {
    await run();
  } finally {
    processes.default.spawn = real;
    syncBuiltinESMExports();
  }
  return count;
}

describe("the last commit that touched a path", () => {
  const last = async (from: string, file: string) =>
    (await lastCommit(repository, { from, path: file }))?.id;

  it("is as of the given commit, and may have removed it", async () => {
    expect(await last(third, "a.txt")).to.equal(second);
    expect(await last(first, "a.txt")).to.equal(first);
    expect(await last(third, "d/b.txt")).to.equal(third);
    expect(await last(second, "d")).to.equal(second);
    expect(await last(third, "none")).to.equal(undefined);
  });
});

describe("the common ancestor", () => {
  it("is git's merge base, or none", async () => {
    await git(copy, "checkout", "--quiet", "-b", "side", second);
    const side = await commit(copy, "Side");
    await git(copy, "checkout", "--quiet", "--orphan", "alone");
    const alone = await commit(copy, "Alone");
    await git(copy, "push", "--quiet", repository.gitDir, "side", "alone");

    expect(await mergeBase(repository, third, side)).to.equal(second);
    expect(await mergeBase(repository, first, third)).to.equal(first);
    expect(await mergeBase(repository, third, alone)).to.equal(null);
  });
});

describe("upkeep", () => {
  it("leaves a commit-graph that knows which paths commits touched", async () => {
    await repository.maintain();
    const chain = path.join(repository.gitDir, "objects", "info", "commit-graphs");
    expect(await readdir(chain)).to.include("commit-graph-chain");
    await git(repository.gitDir, "commit-graph", "verify");
    // The query of the lists: with every setting of a git child.
    const trace = path.join(dataDir, "trace");
    const env = { GIT_TRACE2_EVENT: trace };
    await runGit(repository.gitDir, ["rev-list", "--count", third, "--", "a.txt"], { env });
    const statistics = (await readFile(trace, "utf8"))
      .split("\n")
      .find((line) => line.includes('"category":"bloom"'));
    const { value } = JSON.parse(statistics ?? "{}") as { value?: Record<string, number> };
    expect(value).to.include({ filter_not_present: 0, definitely_not: 1 });
  });
});
