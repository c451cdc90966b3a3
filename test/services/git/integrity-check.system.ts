import { randomUUID } from "node:crypto";
import { chmod, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { expect } from "chai";
import { openBlobs } from "../../../src/platform/blob/open.ts";
import { blobPath } from "../../../src/platform/blob/store.ts";
import {
  examineBlobs,
  examineRepositories,
  type Finding,
  type IntegrityCheckOptions,
} from "../../../src/services/git/integrity-check.ts";
import { startGitApp, type TestProject } from "../../support/app/git-app.ts";
import {
  commit,
  git,
  temporaryDirectory,
  unpackObjects,
  workingCopy,
} from "../../support/git/git.ts";

const app = await startGitApp();
const parent = await temporaryDirectory();
const anna = await app.user("anna");
const blobs = await openBlobs({ dataDir: app.dataDir }, app.db);
const options: IntegrityCheckOptions = { repair: false, signal: new AbortController().signal };

let count = 0;
let project: TestProject;
let gitDir: string;
let copy: string;
beforeEach(async () => {
  count += 1;
  project = await app.project(anna, `project-${count}`);
  copy = await workingCopy(parent, `copy-${count}`);
  await commit(copy, "One", { "a.txt": `${count}\n` });
  await git(copy, "push", "-q", app.remote(project, anna), "main");
  gitDir = (await app.git.find(project.id))?.gitDir ?? "";
});

async function all(findings: AsyncIterable<Finding>): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for await (const finding of findings) {
    if (!finding.subject.startsWith("repository") || finding.subject.endsWith(`-${count}`)) {
      found.push(finding);
    }
  }
  return found;
}
const repositories = (over: Partial<IntegrityCheckOptions> = {}) =>
  all(examineRepositories({ ...app, blobs }, { ...options, ...over }));

describe("the examination of repositories", () => {
  it("finds nothing where nothing is wrong, also in a project nobody pushed to", async () => {
    await app.project(anna, `empty-${count}`);
    expect(await repositories()).to.deep.equal([]);
  });

  it("finds refs that were changed from outside, and records them when it may", async () => {
    await git(gitDir, "update-ref", "refs/heads/outside", "refs/heads/main");
    const subject = `repository anna/project-${count}`;
    const problem = "changed from outside, the log does not know: refs/heads/outside";
    expect(await repositories()).to.deep.equal([{ subject, problem, repaired: false }]);
    expect(await repositories({ repair: true })).to.deep.equal([
      { subject, problem, repaired: true },
    ]);
    await app.visible(await app.store.head());
    expect(await repositories()).to.deep.equal([]);
  });

  it("writes an empty tree that is missing, when it may", async () => {
    const tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    const by = ["-c", "user.name=a", "-c", "user.email=a@example.test"];
    const empty = await git(gitDir, ...by, "commit-tree", "-p", "main", "-m", "Nothing", tree);
    await git(gitDir, "update-ref", "refs/heads/main", empty);
    const [broken] = await repositories();
    expect(broken?.problem).to.include(`missing tree ${tree}`);
    const mended = await repositories({ repair: true });
    expect(mended.map(({ repaired }) => repaired)).to.deep.equal([true, true]);
    await git(gitDir, "fsck", "--full", "--strict");
    await app.visible(await app.store.head());
    expect(await repositories()).to.deep.equal([]);
  });

  it("finds objects that are missing or broken, and records nothing of such a repository", async () => {
    await unpackObjects(gitDir);
    const blob = await git(copy, "rev-parse", "HEAD:a.txt");
    const file = path.join(gitDir, "objects", blob.slice(0, 2), blob.slice(2));
    await chmod(file, 0o600);
    await writeFile(file, "broken");
    await git(gitDir, "update-ref", "refs/heads/outside", "refs/heads/main");
    const found = await repositories({ repair: true });
    expect(found.map(({ repaired }) => repaired)).to.deep.equal([false, false]);
    expect(found[0]?.problem).to.match(/^git fsck: /);
    expect(found[0]?.problem).to.contain(blob);
  });

  it("finds files whose LFS objects never came, each once, in all branches", async () => {
    const pointer = (n: number, size = 12) =>
      `version https://git-lfs.github.com/spec/v1\noid sha256:${String(n).repeat(64)}\nsize ${size}\n`;
    const files = { "here.bin": pointer(1), "there.bin": pointer(2), "deep/away.bin": pointer(3) };
    await commit(copy, "Pointers", files);
    await commit(copy, "Changed", { "here.bin": pointer(4), "again/away.bin": pointer(3) });
    await git(copy, "push", "-q", app.remote(project, anna), "main:side");
    await app.visible(await app.store.head());
    const oid = "1".repeat(64);
    const row = { project_id: project.id, oid, bytes: 12, stored_at: new Date() };
    await app.db("lfs_object").insert(row);
    const [found, ...others] = await repositories();
    expect(others).to.deep.equal([]);
    expect(found).to.include({ subject: `repository anna/project-${count}`, repaired: false });
    const about = "files point to LFS objects that it does not have: ";
    const named = found?.problem.slice(about.length).split(", ") ?? [];
    expect(found?.problem).to.contain(about);
    expect(named.map((name) => name.replace(/.*\((\d).*/, "$1")).sort()).to.deep.equal([
      "2",
      "3",
      "4",
    ]);
    expect(named).to.include(`there.bin (${"2".repeat(64)})`);
    await app.db("lfs_object").where({ oid }).delete();
  });

  it("finds a repository that is gone", async () => {
    await app.git.remove(project.id);
    const [found] = await repositories({ repair: true });
    expect(found).to.include({ repaired: false });
    expect(found?.problem).to.contain("not there, and 1 branches and tags");
  });
});

describe("the examination of blobs", () => {
  async function referred(text: string): Promise<string> {
    const { digest } = await blobs.put(Readable.from([Buffer.from(text)]), { bytesMax: 1_000 });
    const hashes = { md5: "", sha1: "", sha512: "" };
    const row = { id: randomUUID(), release_id: randomUUID(), name: text, bytes: text.length };
    await app.db("release_file").insert({ ...row, ...hashes, sha256: digest, revision: 0 });
    return digest;
  }

  it("finds those that are missing or changed, and no others", async () => {
    const digests = [await referred("whole"), await referred("changed"), await referred("gone")];
    expect(await all(examineBlobs({ ...app, blobs }, options))).to.deep.equal([]);
    const fileOf = (digest = "") => path.join(app.dataDir, "blobs", blobPath(digest));
    await chmod(fileOf(digests[1]), 0o600);
    await writeFile(fileOf(digests[1]), "changeD");
    await rm(fileOf(digests[2]));
    const found = await all(examineBlobs({ ...app, blobs }, options));
    const problems = new Map(found.map(({ subject, problem }) => [subject, problem]));
    expect(problems.size).to.equal(2);
    expect(problems.get(`blob ${digests[1]}`)).to.contain("its bytes were changed");
    expect(problems.get(`blob ${digests[2]}`)).to.contain("it is not there");
  });
});
