import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, stat } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { checkMerge, mergeCommits } from "../../../src/git/merge-commits.ts";
import { looseObject, looseObjectsIn, writeLooseObjects } from "../../../src/git/object/loose.ts";
import { newObject } from "../../../src/git/object/pack-writer.ts";
import { newCommit } from "../../../src/git/object/writer.ts";
import { openGit } from "../../../src/git/repositories.ts";
import type { Repository } from "../../../src/git/repository.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../support/git/git.ts";

const dataDir = await temporaryDirectory();
const repositories = openGit({ dataDir, log: { warn: () => undefined } });
after(() => repositories.close());

const who = "Anna <anna@example.test> 1700000000 +0000";
const objectsOf = ({ gitDir }: Repository): string => path.join(gitDir, "objects");
const drafts = async (repository: Repository) =>
  (await readdir(objectsOf(repository))).filter((name) => name.startsWith("tmp_"));
const repositoryNow = () => repositories.ensure(randomUUID(), "main");

describe("objects written without git", () => {
  it("are read and found whole by git, written twice or once", async () => {
    const repository = await repositoryNow();
    const tree = newObject("tree", "");
    const root = { author: who, committer: who, message: "One", treeId: tree.id, parentIds: [] };
    const made = newCommit(root);
    const objects = await Promise.all([tree, made].map(looseObject));
    await writeLooseObjects(repository, objects);
    await writeLooseObjects(repository, objects);
    const { gitDir } = repository;
    expect(await git(gitDir, "log", "-1", "--format=%s %an %T", made.id)).to.equal(
      `One Anna ${tree.id}`,
    );
    const checked = await tryGit(gitDir, ["fsck", "--full", "--strict", "--no-dangling"]);
    expect(checked).to.include({ exitCode: 0, stdout: "" });
    expect(await drafts(repository)).to.deep.equal([]);
    const file = path.join(objectsOf(repository), made.id.slice(0, 2), made.id.slice(2));
    expect((await stat(file)).mode & 0o777).to.equal(0o444);
  });

  it("are written by several at once", async () => {
    const repository = await repositoryNow();
    const blob = await looseObject(newObject("blob", "text"));
    await Promise.all(Array.from({ length: 4 }, () => writeLooseObjects(repository, [blob])));
    expect(await git(repository.gitDir, "cat-file", "-p", blob.id)).to.equal("text");
  });

  it("leave nothing behind when one cannot be put in its place", async () => {
    const repository = await repositoryNow();
    const blob = await looseObject(newObject("blob", "text"));
    // There is no directory that a file of this name could be in.
    const named = { ...blob, id: `aa/missing/${blob.id}` };
    const error = await writeLooseObjects(repository, [named]).catch((thrown: unknown) => thrown);
    expect(error).to.have.property("code", "ENOENT");
    expect(await drafts(repository)).to.deep.equal([]);
  });

  it("are not gathered from a directory that holds more than is wanted", async () => {
    const gitDir = await mkdtemp(path.join(dataDir, "draft-"));
    const directory = path.join(gitDir, "objects");
    await mkdir(directory);
    const blobs = ["a", "b", "c"].map((text) => newObject("blob", text));
    await writeLooseObjects({ gitDir }, await Promise.all(blobs.map(looseObject)));
    const within = (objects: number, bytes: number) =>
      looseObjectsIn(directory, { objects, bytes });
    const found = await within(3, 1_000);
    expect(found?.map(({ id }) => id)).to.have.members(blobs.map(({ id }) => id));
    expect(await within(2, 1_000)).to.equal(undefined);
    expect(await within(3, 20)).to.equal(undefined);
    // Others may be in there.
    await mkdir(path.join(directory, "pack"));
    expect(await within(3, 1_000)).to.equal(undefined);
  });
});

describe("a merge that was checked in this process", () => {
  /** With so little memory no program starts. */
  const noGit = { timeoutMs: 30_000, memoryBytesMax: 1_024 };
  let copy: string;
  let heads: Readonly<{ ours: string; theirs: string }>;

  beforeEach(async () => {
    copy = await workingCopy(dataDir, `copy-${randomUUID()}`);
    await commit(copy, "Base", { "a/a.txt": "a\n", "b/b.txt": "b\n" });
    await git(copy, "checkout", "--quiet", "-b", "theirs");
    const theirs = await commit(copy, "Theirs", { "a/a.txt": `a, ${randomUUID()}\n` });
    await git(copy, "checkout", "--quiet", "main");
    heads = { ours: await commit(copy, "Ours", { "b/b.txt": `b, ${randomUUID()}\n` }), theirs };
  });

  async function pushed(): Promise<Repository> {
    const repository = await repositoryNow();
    await git(copy, "push", "--quiet", repository.gitDir, "main", "theirs");
    return repository;
  }

  it("is not made again: its objects are put into the repository", async () => {
    const repository = await pushed();
    const { treeId } = (await checkMerge(repository, heads)) as { treeId: string };
    expect((await tryGit(repository.gitDir, ["cat-file", "-e", treeId])).exitCode).not.to.equal(0);
    expect(await mergeCommits(repository, heads, noGit)).to.deep.equal({ treeId });
    const files = await git(repository.gitDir, "ls-tree", "-r", "--name-only", treeId);
    expect(files).to.equal("a/a.txt\nb/b.txt");
    expect((await tryGit(repository.gitDir, ["fsck", "--full", "--strict"])).exitCode).to.equal(0);
  });

  it("is made again in another repository, which may lack objects that the first one had", async () => {
    const [one, other] = [await pushed(), await pushed()];
    // The first repository has the result, so a merge in thought adds nothing to it.
    await mergeCommits(one, heads);
    const { treeId } = (await checkMerge(one, heads)) as { treeId: string };
    expect(await mergeCommits(other, heads)).to.deep.equal({ treeId });
    expect((await tryGit(other.gitDir, ["cat-file", "-e", treeId])).exitCode).to.equal(0);
  });
});
