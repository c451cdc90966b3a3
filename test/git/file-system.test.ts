import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import {
  canSyncFileSystem,
  removeUnwrittenRefs,
  syncFileSystem,
} from "../../src/git/file-system.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../support/git/git.ts";

const parent = await temporaryDirectory();
let gitDir: string;
let head: string;
let count = 0;

beforeEach(async () => {
  count += 1;
  const copy = await workingCopy(parent, `copy-${count}`);
  head = await commit(copy, "One", { "a.txt": "a\n" });
  gitDir = path.join(copy, ".git");
});

async function refFile(ref: string, content: string | Buffer): Promise<string> {
  const file = path.join(gitDir, ref);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
}

const refs = () => git(gitDir, "for-each-ref", "--format=%(refname)");

describe("writing a whole file system to the disk", () => {
  it("is not relied on where it may come back too early", async () => {
    expect(await canSyncFileSystem("/proc")).to.equal(false);
  });

  it("fails when there is nothing to write", async () => {
    await expect(syncFileSystem(path.join(parent, "nowhere"))).to.be.rejectedWith("No such file");
  });

  it("takes any name for a directory's", async () => {
    const odd = path.join(parent, "--help");
    await mkdir(odd);
    await syncFileSystem(odd);
  });
});

describe("refs that a power cut left unwritten", () => {
  for (const [what, content] of [
    ["empty", ""],
    ["zeroes", Buffer.alloc(41)],
    ["the beginning of an id", "0123456789abcdef"],
  ] as const) {
    it(`are removed, and git goes on: ${what}`, async () => {
      await refFile("refs/heads/deep/new", content);
      expect((await tryGit(gitDir, ["rev-list", "--all"])).exitCode).not.to.equal(0);

      const removed = await removeUnwrittenRefs(gitDir, ["refs/heads/deep/new", "refs/heads/main"]);

      expect(removed).to.deep.equal(["refs/heads/deep/new"]);
      expect(await git(gitDir, "rev-list", "--all")).to.equal(head);
      await git(gitDir, "update-ref", "refs/heads/deep/new", head);
    });
  }

  it("are those named: others stay, whatever is in them", async () => {
    const other = await refFile("refs/heads/other", "");
    expect(await removeUnwrittenRefs(gitDir, ["refs/heads/main"])).to.deep.equal([]);
    expect(await readFile(other, "utf8")).to.equal("");
  });

  it("stay while a process holds their lock", async () => {
    const file = await refFile("refs/heads/new", "");
    await writeFile(`${file}.lock`, `${head}\n`);
    expect(await removeUnwrittenRefs(gitDir, ["refs/heads/new"])).to.deep.equal([]);
    expect(await readFile(`${file}.lock`, "utf8")).to.equal(`${head}\n`);
  });

  it("are not those that are whole, point elsewhere, are packed or directories", async () => {
    await git(gitDir, "branch", "packed");
    await git(gitDir, "pack-refs", "--all");
    await git(gitDir, "symbolic-ref", "refs/heads/pointing", "refs/heads/main");
    await git(gitDir, "branch", "dir/below");
    const before = await refs();
    const names = ["main", "packed", "pointing", "dir", "dir/below", "never", "packed/never"];
    const refNames = names.map((name) => `refs/heads/${name}`);
    expect(await removeUnwrittenRefs(gitDir, refNames)).to.deep.equal([]);
    expect(await refs()).to.equal(before);
  });
});
