import { access, mkdir, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { removeLeftOverLocks, removeLeftOverObjects } from "../../../src/platform/git/bytes.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../support/git.ts";

const parent = await temporaryDirectory();
const hourMs = 60 * 60_000;
let gitDir: string;
let copy: string;
let count = 0;

beforeEach(async () => {
  count += 1;
  copy = await workingCopy(parent, `copy-${count}`);
  await commit(copy, "One", { "a.txt": "a\n" });
  gitDir = path.join(copy, ".git");
});

async function left(name: string, ageMs: number): Promise<string> {
  const file = path.join(gitDir, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, "");
  const at = new Date(Date.now() - ageMs);
  await utimes(file, at, at);
  return file;
}
const isThere = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

describe("locks that a killed git left", () => {
  for (const name of ["refs/heads/main.lock", "refs/heads/a/deep/one.lock", "packed-refs.lock"]) {
    it(`are removed when nobody can hold them any more: ${name}`, async () => {
      const [fresh, old] = [await left(`${name}`, hourMs / 2), 2 * hourMs];
      await removeLeftOverLocks(gitDir);
      expect(await isThere(fresh)).to.equal(true);
      await left(name, old);
      await removeLeftOverLocks(gitDir);
      expect(await isThere(fresh)).to.equal(false);
    });
  }

  it("keep git from changing the ref until then, and no longer", async () => {
    await left("refs/heads/main.lock", 2 * hourMs);
    const update = () => tryGit(copy, ["commit", "--allow-empty", "-qm", "Two"]);
    expect((await update()).stderr).to.contain("File exists");
    await removeLeftOverLocks(gitDir);
    expect((await update()).exitCode).to.equal(0);
  });

  it("of upkeep are given the time that upkeep takes", async () => {
    const name = "objects/pack/multi-pack-index.lock";
    const file = await left(name, 2 * hourMs);
    await removeLeftOverLocks(gitDir);
    expect(await isThere(file)).to.equal(true);
    await left(name, 7 * hourMs);
    await removeLeftOverLocks(gitDir);
    expect(await isThere(file)).to.equal(false);
  });

  it("are all that goes: refs and files of other names stay", async () => {
    const before = await git(copy, "for-each-ref");
    const other = await left("refs/heads/locked", 9 * hourMs);
    await writeFile(other, await git(copy, "rev-parse", "HEAD"));
    await utimes(other, new Date(0), new Date(0));
    await removeLeftOverLocks(gitDir);
    expect(await git(copy, "for-each-ref"))
      .to.contain(before)
      .and.to.contain("refs/heads/locked");
  });
});

describe("objects that a killed git left half-way", () => {
  it("are removed when no push can be at them any more", async () => {
    const [old, fresh] = ["objects/tmp_objdir-incoming-a", "objects/pack/tmp_pack_b"];
    const quarantine = path.dirname(await left(`${old}/pack/x`, 7 * hourMs));
    const at = new Date(Date.now() - 7 * hourMs);
    await utimes(path.dirname(quarantine), at, at);
    const underWay = await left(fresh, hourMs);
    await removeLeftOverObjects(gitDir);
    expect(await isThere(quarantine)).to.equal(false);
    expect(await isThere(underWay)).to.equal(true);
  });
});
