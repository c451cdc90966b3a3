import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { copyRepository, filesBelow } from "../../../src/cli/backup/copy-tree.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

describe("the copy of a repository", () => {
  let parent: string;
  let first: string;
  let second: string;
  let from: string;
  let to: string;

  before(async () => {
    parent = await temporaryDirectory();
    const working = await workingCopy(parent, "working");
    first = await commit(working, "First", { "a.txt": "a" });
    do {
      second = await commit(working, "Second", { "a.txt": "b" });
      // A test takes the directory of the one away, and reads the other.
    } while (second.slice(0, 2) === first.slice(0, 2));
    from = path.join(parent, "from.git");
    await git(parent, "clone", "--quiet", "--bare", working, from);
  });

  beforeEach(async () => {
    to = path.join(parent, "to.git");
    await rm(to, { recursive: true, force: true });
    for (const line of (await git(from, "for-each-ref", "--format=%(refname)")).split("\n")) {
      if (line !== "") await git(from, "update-ref", "-d", line);
    }
    await git(from, "update-ref", "refs/heads/main", first);
  });

  const refs = (of: string) => git(of, "for-each-ref");
  const files = async (of: string): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const name of filesBelow(of)) found.push(name);
    return found;
  };

  it("has branches and tags that are named as temporary files are", async () => {
    for (const ref of [
      "refs/heads/tmp_work",
      "refs/heads/tmp_/deep",
      "refs/heads/incoming-mail/fix",
      "refs/heads/work.tmp_part",
      "refs/tags/incoming-1",
      `refs/heads/${"x".repeat(244)}`,
    ]) {
      await git(from, "update-ref", ref, second);
    }
    await copyRepository(from, to);
    expect((await refs(to)).split("\n")).to.have.length(7);
    expect(await refs(to)).to.equal(await refs(from));
  });

  it("leaves out objects that are received just now, and locks", async () => {
    const received = path.join(from, "objects", "incoming-abc", "pack");
    await mkdir(received, { recursive: true });
    await writeFile(path.join(received, "x.pack"), "x");
    await writeFile(path.join(from, "objects", "tmp_obj_1"), "x");
    await writeFile(path.join(from, "refs", "heads", "main.lock"), "x");
    await copyRepository(from, to);
    await rm(path.join(from, "objects", "incoming-abc"), { recursive: true });
    await rm(path.join(from, "objects", "tmp_obj_1"));
    await rm(path.join(from, "refs", "heads", "main.lock"));
    expect((await files(to)).filter((name) => /incoming|tmp_/.test(name))).to.deep.equal([]);
    await git(to, "fsck", "--strict");
  });

  it("follows refs that are moved, packed, removed, or become directories", async () => {
    await git(from, "update-ref", "refs/merge-requests/1/head", first);
    await git(from, "update-ref", "refs/heads/gone", first);
    await git(from, "update-ref", "refs/heads/a", first);
    await git(from, "update-ref", "refs/heads/b/c", first);
    await copyRepository(from, to);
    await git(from, "update-ref", "refs/merge-requests/1/head", second);
    await git(from, "update-ref", "refs/heads/main", second);
    await git(from, "pack-refs", "--all");
    for (const ref of ["gone", "a", "b/c"])
      await git(from, "update-ref", "-d", `refs/heads/${ref}`);
    await git(from, "update-ref", "refs/heads/a/b", second);
    await git(from, "update-ref", "refs/heads/b", second);
    await copyRepository(from, to);
    expect(await refs(to)).to.equal(await refs(from));
    await git(to, "fsck", "--strict");
  });

  it("keeps its refs when a later one ends before it is whole", async () => {
    await git(from, "update-ref", "refs/merge-requests/1/head", first);
    await git(from, "pack-refs", "--all");
    await copyRepository(from, to);
    const before = await refs(to);
    await git(from, "update-ref", "refs/heads/main", second);
    await git(from, "update-ref", "refs/heads/new", second);
    // Where a directory of objects goes there is a file: the copy cannot be finished.
    const inTheWay = path.join(to, "objects", second.slice(0, 2));
    await rm(inTheWay, { recursive: true });
    await writeFile(inTheWay, "");
    const error: unknown = await copyRepository(from, to).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(Error);
    expect(await refs(to)).to.equal(before);
    await rm(inTheWay);
    await copyRepository(from, to);
    expect(await refs(to)).to.equal(await refs(from));
    expect(await refs(to)).not.to.equal(before);
    expect((await files(to)).filter((name) => name.includes("copy"))).to.deep.equal([]);
  });
});
