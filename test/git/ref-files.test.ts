import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { headInFile, refsInFiles } from "../../src/git/ref-files.ts";
import { openGit } from "../../src/git/repositories.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

const dataDir = await temporaryDirectory();
const repositories = openGit({ dataDir, log: { warn: () => undefined } });
after(() => repositories.close());

let gitDir: string;
let first: string;
let second: string;

before(async () => {
  const copy = await workingCopy(dataDir, "copy");
  first = await commit(copy, "First");
  second = await commit(copy, "Second");
  ({ gitDir } = await repositories.ensure(randomUUID(), "main"));
  await git(copy, "push", "--quiet", gitDir, "main");
  await git(copy, "tag", "-a", "v1", "-m", "One");
  await git(copy, "push", "--quiet", gitDir, "main:refs/heads/a/b", "v1", `${first}:refs/tags/v10`);
});

const names = ["main", "a", "a/b", "a/b/c", "b", "none", "v1"].map((name) => `refs/heads/${name}`);
const tags = ["v1", "v10", "v", "1"].map((name) => `refs/tags/${name}`);

/** What git says of the same names. */
async function said(): Promise<Record<string, string>> {
  const listing = await git(gitDir, "for-each-ref", "--format=%(refname) %(objectname)");
  const all = listing.split("\n").map((line) => line.split(" ") as [string, string]);
  return Object.fromEntries(all.filter(([name]) => [...names, ...tags].includes(name)));
}
const read = async () =>
  Object.fromEntries((await refsInFiles(gitDir, [...names, ...tags])) ?? [["nothing", ""]]);

describe("refs read from files", () => {
  it("are those that git reads: with a file of their own, packed, changed since, deleted", async () => {
    expect(await read()).to.deep.equal(await said());
    expect(await read()).to.have.all.keys(
      ...["refs/heads/main", "refs/heads/a/b", "refs/tags/v1", "refs/tags/v10"],
    );
    await git(gitDir, "pack-refs", "--all", "--prune");
    expect(await read()).to.deep.equal(await said());
    expect(await read()).to.have.property("refs/tags/v10", first);

    await git(gitDir, "update-ref", "refs/heads/a/b", first);
    await git(gitDir, "update-ref", "-d", "refs/tags/v10");
    expect(await read()).to.deep.equal(await said());
    expect(await read()).to.include({ "refs/heads/a/b": first, "refs/heads/main": second });
    expect(await read()).to.not.have.property("refs/tags/v10");
  });

  it("are left to git where a file holds something else", async () => {
    const odd = path.join(gitDir, "refs", "heads", "odd");
    for (const content of ["ref: refs/heads/main\n", "", "abc\n"]) {
      await writeFile(odd, content);
      expect(await refsInFiles(gitDir, ["refs/heads/main", "refs/heads/odd"])).to.equal(undefined);
    }
    await rm(odd);
  });

  it("never miss one that stands, however often it is packed and moved meanwhile", async () => {
    let moving = true;
    const move = async (): Promise<void> => {
      for (let round = 0; round < 12; round += 1) {
        await git(gitDir, "update-ref", "refs/heads/main", round % 2 === 0 ? first : second);
        await git(gitDir, "pack-refs", "--all", "--prune");
      }
      moving = false;
    };
    const moved = move();
    const seen = new Set<string | undefined>();
    while (moving) seen.add((await refsInFiles(gitDir, ["refs/heads/main"]))?.get(names[0]!));
    await moved;
    expect([...seen].sort()).to.deep.equal([first, second].sort());
  });

  it("say where HEAD points, unless it points to no branch", async () => {
    expect(await headInFile(gitDir)).to.equal("main");
    await git(gitDir, "symbolic-ref", "HEAD", "refs/heads/a/b");
    expect(await headInFile(gitDir)).to.equal("a/b");
    await git(gitDir, "update-ref", "--no-deref", "HEAD", first);
    expect(await headInFile(gitDir)).to.equal(undefined);
  });
});
