import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { newObject, writeObjects } from "../../src/git/object/pack-writer.ts";
import { openGit } from "../../src/git/repositories.ts";
import type { Repository } from "../../src/git/repository.ts";
import { editTree, type FileChange, rawEntries } from "../../src/git/tree-edit.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

const dataDir = await temporaryDirectory();
const log = { warn: () => undefined };
const repositories = openGit({ dataDir, log });
after(() => repositories.close());

let repository: Repository;
let copy: string;
let treeId: string;

before(async () => {
  repository = await repositories.ensure("11111111-2222-3333-4444-555555555555", "main");
  copy = await workingCopy(dataDir, "copy");
  // Names that sort differently as files and as directories.
  const files = ["a", "a.b/x", "a0", "ab/c/d", "ab.c", "ab/c0", "z/deep/er/file"];
  await commit(copy, "Files", Object.fromEntries(files.map((name) => [name, name])));
  await git(copy, "push", "--quiet", repository.gitDir, "HEAD:refs/heads/main");
  treeId = await git(copy, "rev-parse", "HEAD^{tree}");
});

const read = async (id: string) => {
  const data = await repository.objects.treeData(id);
  return data && rawEntries(data);
};
describe("a tree that is none", () => {
  it("is not edited, as if nothing had been in it", async () => {
    const nothing = async () => undefined;
    const edited = editTree(nothing, treeId, new Map([["a", null]]));
    await expect(edited).to.be.rejectedWith("No tree");
  });

  it("is not read beyond its end", () => {
    const entry = Buffer.from(`100644 a\0${"\u0001".repeat(20)}`, "latin1");
    expect(rawEntries(entry)).to.have.length(1);
    for (const length of [1, 6, 8, 9, entry.length - 1]) {
      expect(() => rawEntries(entry.subarray(0, length)), `${length}`).to.throw("Malformed");
    }
  });
});

const blob = newObject("blob", "new");
const file: FileChange = { mode: "100644", id: blob.id };

/** The tree as git itself makes it out of an index with the same changes. */
async function byGit(changes: ReadonlyMap<string, FileChange>): Promise<string> {
  await git(copy, "read-tree", treeId);
  for (const [path, change] of changes) {
    if (change === null) await git(copy, "update-index", "--force-remove", "--", path);
  }
  for (const [path, change] of changes) {
    if (change === null) continue;
    const info = `${change.mode},${change.id},${path}`;
    await git(copy, "update-index", "--add", "--info-only", "--cacheinfo", info);
  }
  return git(copy, "write-tree", "--missing-ok");
}

const cases: readonly (readonly [string, Readonly<Record<string, FileChange>>])[] = [
  ["a file more", { "ab/c/e": file }],
  ["a file less, and its directories with it", { "z/deep/er/file": null }],
  ["a file that becomes a directory", { a: null, "a/b/c": file }],
  ["a directory that becomes a file", { "ab/c/d": null, "ab/c": file }],
  ["names that sort around a slash", { "ab-": file, ab0: file, "ab/": null, "a.b.": file }],
  ["other modes", { a: { mode: "100755", id: blob.id }, link: { mode: "120000", id: blob.id } }],
  ["names of many kinds", { "ü/ñ": file, 日本: file, "\u{1f600}": file, "sp ace": file }],
];

describe("editing a tree", () => {
  for (const [name, edits] of cases) {
    it(`makes the tree that git makes of ${name}`, async () => {
      const changes = new Map(Object.entries(edits).filter(([path]) => !path.endsWith("/")));
      const edited = await editTree(read, treeId, changes);
      expect(edited.id).to.equal(await byGit(changes));
    });
  }

  it("begins with nothing and ends with nothing", async () => {
    const made = await editTree(read, null, new Map([["a/b", file]]));
    expect(made.trees).to.have.length(2);
    const all = (await git(copy, "ls-tree", "-r", "--name-only", treeId)).split("\n");
    const emptied = await editTree(read, treeId, new Map(all.map((path) => [path, null])));
    expect(emptied.id).to.equal("4b825dc642cb6eb9a060e54bf8d69288fbee4904");
  });

  it("writes only directories on the way", async () => {
    const { trees } = await editTree(read, treeId, new Map([["ab/c/d", file]]));
    expect(trees).to.have.length(3);
  });
});

describe("writing objects", () => {
  it("stores what git can read, loose or packed, of any size", async () => {
    for (const count of [1, 150]) {
      const contents = Array.from({ length: count }, (_, index) => randomBytes(index * 37));
      const objects = contents.map((content) => newObject("blob", content));
      await writeObjects(repository, objects);
      for (const { id, data } of objects) {
        const stored = await repository.objects.blob(id);
        expect(stored?.equals(data), `${data.length} bytes`).to.equal(true);
      }
    }
    const large = newObject("blob", Buffer.alloc(3 * 1024 ** 2, "x"));
    await writeObjects(repository, [large]);
    expect((await repository.objects.info(large.id))?.bytes).to.equal(3 * 1024 ** 2);
  });

  it("refuses what is malformed or refers to nothing, and keeps none of it", async () => {
    const good = newObject("blob", "a good one beside a bad one");
    const dotGit = Buffer.concat([Buffer.from("100644 .GIT\0"), Buffer.from(good.id, "hex")]);
    const bad = [
      newObject("tree", dotGit),
      newObject("tree", "not a tree"),
      newObject("commit", "tree nothing\n"),
      newObject("tag", `object ${"1".repeat(40)}\ntype commit\ntag x\n\nx\n`),
    ];
    for (const object of bad) {
      let refused = false;
      await writeObjects(repository, [object, good]).catch(() => {
        refused = true;
      });
      expect(refused, object.data.toString("latin1")).to.equal(true);
      expect(await repository.objects.info(object.id)).to.equal(undefined);
    }
  });
});
