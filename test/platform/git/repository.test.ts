import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { access, chmod, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect } from "chai";

import { gitEnvironment } from "../../../src/platform/git/environment.ts";
import { GitFailure } from "../../../src/platform/git/failure.ts";
import { directoryOf, openGit } from "../../../src/platform/git/repositories.ts";
import type { Repository } from "../../../src/platform/git/repository.ts";
import { runGit } from "../../../src/platform/git/run.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git.ts";

const dataDir = await temporaryDirectory();
const log = { warn: () => undefined };
const repositories = openGit({ dataDir, log });
after(() => repositories.close());

const projectId = randomUUID();
let repository: Repository;
let copy: string;
let first: string;
let second: string;

before(async () => {
  repository = await repositories.ensure(projectId, "main");
  copy = await workingCopy(dataDir, "copy");
  first = await commit(copy, "First\n\nWith a body", { "README.md": "one\n", "src/a.ts": "a\n" });
  await symlink("/etc", path.join(copy, "link"));
  second = await commit(copy, "Second", { "src/deep/er/b": "b\n", "src/a.ts": "aa\n" });
  await git(copy, "tag", "-a", "v1", "-m", "Version 1", first);
  await git(copy, "tag", "light", first);
  await git(copy, "push", "--quiet", repository.gitDir, "main", "v1", "light");
});

describe("making a repository", () => {
  it("gives the same one to everybody who asks at once, and leaves nothing behind", async () => {
    const id = randomUUID();
    const other = openGit({ dataDir, log });
    const made = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        (index % 2 ? other : repositories).ensure(id, "trunk"),
      ),
    );

    const gitDir = directoryOf(path.join(dataDir, "repositories"), id);
    expect(gitDir).to.match(
      new RegExp(`/repositories/${id.slice(0, 2)}/${id.slice(2, 4)}/${id}.git$`),
    );
    expect(new Set(made.map((one) => one.gitDir))).to.deep.equal(new Set([gitDir]));
    expect(await made[0]!.head()).to.equal("trunk");
    expect(await readdir(path.join(dataDir, "repositories", "temporary"))).to.deep.equal([]);
    await other.close();
  });

  it("does not start over when there is one", async () => {
    const again = await repositories.ensure(projectId, "other");
    expect(await again.head()).to.equal("main");
    expect((await again.refs()).size).to.equal(3);
  });

  it("refuses an id that is not a UUID, so that no path can be built from it", () => {
    expect(() => directoryOf("/x", "../../etc")).to.throw("Not a UUID");
  });

  it("is undone by removing it", async () => {
    const id = randomUUID();
    const { gitDir } = await repositories.ensure(id, "main");
    await repositories.remove(id);

    expect(await repositories.find(id)).to.equal(undefined);
    await expect(access(gitDir)).to.be.rejectedWith("ENOENT");
  });
});

describe("a git child", () => {
  it("is given none of the server's variables", async () => {
    process.env["LEDGERFORGE_TEST_SECRET"] = "s3cret";
    expect(JSON.stringify(gitEnvironment())).not.to.contain("s3cret");
    expect(Object.keys(gitEnvironment())).not.to.include("LEDGERFORGE_TEST_SECRET");
  });

  it("runs no hook that lies in the repository", async () => {
    const { gitDir } = await repositories.ensure(randomUUID(), "main");
    const witness = path.join(dataDir, "hook-ran");
    await mkdir(path.join(gitDir, "hooks"), { recursive: true });
    for (const hook of ["reference-transaction", "post-update", "pre-auto-gc"]) {
      await writeFile(path.join(gitDir, "hooks", hook), `#!/bin/sh\ntouch ${witness}\n`);
      await chmod(path.join(gitDir, "hooks", hook), 0o755);
    }
    await runGit(gitDir, ["symbolic-ref", "HEAD", "refs/heads/x"]);
    await runGit(gitDir, ["update-ref", "--no-deref", "refs/tags/x", await emptyCommit(gitDir)]);

    await expect(access(witness)).to.be.rejectedWith("ENOENT");
  });

  it("is ended when it prints too much or takes too long", async () => {
    await expect(
      runGit(repository.gitDir, ["cat-file", "blob", `${second}:src/a.ts`], { bytesMax: 1 }),
    ).to.be.rejectedWith(GitFailure, "more than 1 bytes");
    // Opening a pipe that nobody writes to waits for ever.
    const pipe = path.join(dataDir, "pipe");
    await promisify(execFile)("mkfifo", [pipe]);
    await expect(
      runGit(repository.gitDir, ["hash-object", "--no-filters", "--", pipe], { timeoutMs: 50 }),
    ).to.be.rejectedWith(GitFailure, "ended with a signal");
  });
});

describe("reading a repository", () => {
  it("lists branches and tags, or those named", async () => {
    expect([...(await repository.refs()).keys()]).to.have.members([
      "refs/heads/main",
      "refs/tags/light",
      "refs/tags/v1",
    ]);
    const named = await repository.refs(["refs/heads/main", "refs/heads/none", "--exec=x"]);
    expect([...named]).to.deep.equal([["refs/heads/main", second]]);
    expect((await repository.refs(["refs/heads"])).size).to.equal(0);
  });

  it("gives a commit, and nothing for an id that is unknown or of another kind", async () => {
    const { objects } = repository;
    expect(await objects.commit(first)).to.deep.include({ message: "First\n\nWith a body\n" });
    const { treeId } = (await objects.commit(first))!;
    for (const id of ["0".repeat(40), treeId, "main", "--help", "HEAD", `${first}\ninfo HEAD`]) {
      expect(await objects.commit(id), id).to.equal(undefined);
    }
  });

  it("follows an annotated tag to its commit", async () => {
    const tagId = (await repository.refs()).get("refs/tags/v1")!;
    expect(await repository.objects.peel(tagId)).to.equal(first);
    expect(await repository.objects.peel(first)).to.equal(first);
    expect(await repository.objects.peel("0".repeat(40))).to.equal(undefined);
  });

  it("finds a file of a commit, and never goes through a symbolic link", async () => {
    const { objects } = repository;
    expect((await objects.entry(second, ["src", "deep", "er", "b"]))?.kind).to.equal("file");
    expect((await objects.entry(first, ["src", "deep"]))?.kind).to.equal(undefined);
    expect((await objects.entry(second, ["link"]))?.kind).to.equal("symlink");
    expect(await objects.entry(second, ["link", "passwd"])).to.equal(undefined);
    expect((await objects.entry(second, []))?.kind).to.equal("directory");
  });

  it("asks again when its process was ended under it", async () => {
    const { objects } = await freshReader();
    await objects.commit(first);
    await endReaders();
    expect((await objects.commit(second))?.message).to.equal("Second\n");
  });

  it("lists files down to a depth, with sizes", async () => {
    const root = (await repository.objects.entry(second, []))!;
    const names = async (depth: number): Promise<readonly string[]> =>
      (await repository.files(root, "", depth, 1_000)).map(
        ({ path: file, bytes }) => `${file} ${bytes}`,
      );

    expect(await names(0)).to.deep.equal(["README.md 4", "link 4"]);
    expect(await names(1)).to.deep.equal(["README.md 4", "link 4", "src/a.ts 3"]);
    expect(await names(10)).to.include("src/deep/er/b 2");
  });

  it("knows what contains what", async () => {
    expect(await repository.isAncestor(first, second)).to.equal(true);
    expect(await repository.isAncestor(second, first)).to.equal(false);
    expect(await repository.isAncestor("0".repeat(40), second)).to.equal(false);
  });

  it("streams a blob from a process of its own", async () => {
    const entry = (await repository.objects.entry(second, ["src", "a.ts"]))!;
    expect((await buffer(repository.blobStream(entry.id))).toString()).to.equal("aa\n");
  });

  it("still reads everything after maintenance, and the check finds nothing", async () => {
    await repository.maintain();
    await repository.check();
    expect((await repository.refs()).get("refs/heads/main")).to.equal(second);
    expect((await (await freshReader()).objects.commit(first))?.id).to.equal(first);
  });
});

async function emptyCommit(gitDir: string): Promise<string> {
  const empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
  return git(gitDir, "commit-tree", "-m", "x", empty);
}

const opened: { close: () => Promise<void> }[] = [];
after(() => Promise.all(opened.map((one) => one.close())));

async function freshReader(): Promise<Repository> {
  const fresh = openGit({ dataDir, log });
  opened.push(fresh);
  return (await fresh.find(projectId))!;
}

/** Ends the reader processes of this test, as the system would when memory runs out. */
async function endReaders(): Promise<void> {
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (line.includes(repository.gitDir) && line.includes("cat-file")) process.kill(Number(pid));
  }
}
