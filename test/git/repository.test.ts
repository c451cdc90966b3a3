import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  access,
  chmod,
  mkdir,
  readdir,
  readFile,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect } from "chai";

import { gitEnvironment } from "../../src/git/environment.ts";
import { GitFailure } from "../../src/git/failure.ts";
import { directoryOf, openGit } from "../../src/git/repositories.ts";
import type { Repository } from "../../src/git/repository.ts";
import { runGit } from "../../src/git/run.ts";
import { Refusal } from "../../src/platform/refusal.ts";
import { eventually } from "../support/app/eventually.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";
import { processes } from "../support/process/process.ts";
import { needsProgram } from "../support/process/program.ts";

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
  it("gives the same one to all concurrent callers, and leaves nothing behind", async () => {
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

  it("begins with no branch whose name git would not take", async () => {
    const id = randomUUID();
    for (const name of ["-x", "a..b", "HEAD", ""]) {
      await expect(repositories.ensure(id, name)).to.be.rejectedWith("Not a branch name");
    }
    expect(await repositories.find(id)).to.equal(undefined);
    await expect(repository.setHead("../x")).to.be.rejectedWith("Not a branch name");
    expect(await repository.head()).to.equal("main");
  });

  it("takes away what a dead process left, and nothing that may be under way", async () => {
    const directory = await temporaryDirectory();
    const at = (name: string) => path.join(directory, "repositories", "temporary", name);
    for (const name of ["old", "fresh"]) await mkdir(at(name), { recursive: true });
    const hoursAgo = new Date(Date.now() - 2 * 60 * 60_000);
    await utimes(at("old"), hoursAgo, hoursAgo);
    const other = openGit({ dataDir: directory, log });
    await eventually(async () => (await readdir(at(""))).length === 1);
    expect(await readdir(at(""))).to.deep.equal(["fresh"]);
    await other.close();
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

  it("gives each kind of object as that kind alone", async () => {
    const { objects } = repository;
    const { treeId } = (await objects.commit(first))!;
    const blobId = (await objects.entry(first, ["README.md"]))?.id ?? "";
    for (const id of [treeId, first, "main", `${first}:README.md`]) {
      expect(await objects.blob(id), id).to.equal(undefined);
    }
    for (const id of [blobId, first, "main"]) {
      expect(await objects.treeData(id), id).to.equal(undefined);
      expect(await objects.tree(id), id).to.equal(undefined);
    }
  });

  it("gives nothing that only another repository holds, although it was read there", async () => {
    const other = await repositories.ensure(randomUUID(), "main");
    const blobId = (await repository.objects.entry(first, ["README.md"]))?.id ?? "";
    const { treeId } = (await repository.objects.commit(first))!;
    expect((await repository.objects.blob(blobId))?.toString()).to.equal("one\n");
    expect(await repository.objects.tree(treeId)).not.to.equal(undefined);
    expect(await other.objects.commit(first)).to.equal(undefined);
    expect(await other.objects.tree(treeId)).to.equal(undefined);
    expect(await other.objects.blob(blobId)).to.equal(undefined);
    expect(await other.objects.info(blobId)).to.equal(undefined);
  });

  it("reads refs from its files by their names alone, never by a way around", async () => {
    await writeFile(path.join(repository.gitDir, "aside"), `${first}\n`);
    for (const name of ["refs/heads/../../aside", "aside", "./aside"]) {
      expect((await repository.refs([name])).size, name).to.equal(0);
    }
    await runGit(repository.gitDir, ["update-ref", "refs/heads/inside/one", first]);
    const many = Array.from({ length: 20 }, (_, at) => `refs/heads/none-${at}`);
    expect((await repository.refs([...many, "refs/heads/inside"])).size).to.equal(0);
    expect((await repository.refs([...many, "refs/heads/inside/one"])).size).to.equal(1);
    await runGit(repository.gitDir, ["update-ref", "-d", "refs/heads/inside/one"]);
  });

  it("follows an annotated tag to its commit", async () => {
    const tagId = (await repository.refs()).get("refs/tags/v1")!;
    expect(await repository.objects.peel(tagId)).to.equal(first);
    expect(await repository.objects.peel(first)).to.equal(first);
    expect(await repository.objects.peel("0".repeat(40))).to.equal(undefined);
    let id = first;
    for (let depth = 1; depth <= 16; depth += 1) {
      const [type, who] = [depth === 1 ? "commit" : "tag", "A <a@b> 1700000000 +0000"];
      const input = `object ${id}\ntype ${type}\ntag t${depth}\ntagger ${who}\n\nT\n`;
      id = (await runGit(repository.gitDir, ["mktag"], { input })).stdout.toString().trim();
      if (depth === 15) expect(await repository.objects.peel(id)).to.equal(first);
    }
    expect(await repository.objects.peel(id)).to.equal(undefined);
  });

  it("finds a file of a commit, and never goes through a symbolic link", async () => {
    const { objects } = repository;
    expect((await objects.entry(second, ["src", "deep", "er", "b"]))?.kind).to.equal("file");
    expect((await objects.entry(first, ["src", "deep"]))?.kind).to.equal(undefined);
    expect((await objects.entry(second, ["link"]))?.kind).to.equal("symlink");
    expect(await objects.entry(second, ["link", "passwd"])).to.equal(undefined);
    expect((await objects.entry(second, []))?.kind).to.equal("directory");
  });

  it("queries again when its process was ended under it", async () => {
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
    // What is not here today may be here tomorrow.
    const third = await commit(copy, "Third");
    expect(await repository.isAncestor(first, third)).to.equal(false);
    await git(copy, "push", "--quiet", repository.gitDir, "main:refs/heads/third");
    expect(await repository.isAncestor(first, third)).to.equal(true);
    await git(copy, "push", "--quiet", repository.gitDir, ":refs/heads/third");
  });

  it("streams a blob from a process of its own", async () => {
    const entry = (await repository.objects.entry(second, ["src", "a.ts"]))!;
    expect((await buffer(repository.blobStream(entry.id))).toString()).to.equal("aa\n");
  });

  it("streams so many at a time, and ends git with the stream", async () => {
    const { id } = (await repository.objects.entry(second, ["src", "a.ts"]))!;
    const streams = Array.from({ length: 32 }, () => repository.blobStream(id));
    expect(() => repository.blobStream(id))
      .to.throw(Refusal)
      .with.property("code", "git.busy");
    for (const stream of streams) stream.destroy();
    await eventually(async () => !(await running("cat-file blob")));
    const again = await eventually(() => buffer(repository.blobStream(id)));
    expect(again.toString()).to.equal("aa\n");
  });

  describe("after a maintenance that was killed", () => {
    needsProgram("flock");

    it("is maintained again, without the locks that are left", async () => {
      const objects = path.join(repository.gitDir, "objects");
      await mkdir(path.join(objects, "info/commit-graphs"), { recursive: true });
      const locks = ["pack/multi-pack-index.lock", "info/commit-graphs/commit-graph-chain.lock"];
      for (const lock of locks) await writeFile(path.join(objects, lock), "");
      await repository.maintain();
      for (const lock of locks) {
        const names = await readdir(path.dirname(path.join(objects, lock)));
        expect(names).to.not.include(path.basename(lock));
        expect(names).to.include(path.basename(lock, ".lock"));
      }
    });
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

async function running(command: string): Promise<boolean> {
  const { gitDir } = repository;
  return (await processes()).some((row) => row.command.includes(`${gitDir} ${command}`));
}

/** Ends the reader processes of this test, as the system would when memory runs out. */
async function endReaders(): Promise<void> {
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (!line.includes(repository.gitDir) || !line.includes("cat-file")) continue;
    try {
      process.kill(Number(pid));
    } catch (error) {
      // It has ended by itself.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}
