import { execFileSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { deflateSync } from "node:zlib";
import { expect } from "chai";
import { changedFiles, type Effort, modest, thorough } from "../../src/git/diff/diff.ts";
import { countPushedExtensions } from "../../src/git/push/extension.ts";
import { summarisePush } from "../../src/git/push/summary.ts";
import { compareTrees, treeLimits } from "../../src/git/tree-walk.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { startGitApp, type TestProject, type TestUser } from "../support/app/git-app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

/** What is small to push and large to show. Each answer is a clear one, and soon. */
const app = await startGitApp();
const parent = await temporaryDirectory();
let anna: TestUser;
let project: TestProject;
let copy: string;
let first: string;

before(async () => {
  anna = await app.user("anna");
  project = await app.project(anna, "project");
  copy = await workingCopy(parent, "copy");
  first = await commit(copy, "First", { "a.txt": "a\n" });
  await git(copy, "push", "--quiet", app.remote(project, anna), "main");
});

const push = (id: string, branch: string) =>
  git(copy, "push", "--quiet", app.remote(project, anna), `${id}:refs/heads/${branch}`);

/** Of an answer: status, code and size in bytes. */
async function call(path: string) {
  const answer = await app.get(project.path + path, anna.token);
  const text = await answer.text();
  const { code } = JSON.parse(text) as { code?: string };
  return { status: answer.status, code, bytes: text.length };
}

async function send(path: string, body: object) {
  const headers = { authorization: `token ${anna.token}`, "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  const answer = await fetch(app.url + project.path + path, init);
  const { code } = (await answer.json()) as { code?: string };
  return { status: answer.status, code };
}

const mktree = (lines: readonly string[]): string =>
  execFileSync("git", ["mktree"], { cwd: copy, input: lines.join("\n") })
    .toString()
    .trim();

/** Ten levels of ten directories each, which are all the same one. */
function treeBomb(leaf: readonly string[]): string {
  let tree = mktree(leaf);
  for (let level = 0; level < 10; level += 1) {
    const entries = Array.from({ length: 10 }, (_, index) => `040000 tree ${tree}\td${index}`);
    tree = mktree(entries);
  }
  return tree;
}

describe("a tree that holds itself ten times over at ten levels", () => {
  for (const [name, leafOf] of [
    ["files", (blob: string) => [`100644 blob ${blob}\tf`]],
    ["no files", () => []],
  ] as const) {
    it(`is taken in, and refused where it would have to be walked: ${name}`, async () => {
      const blob = await git(copy, "rev-parse", `${first}:a.txt`);
      const tree = treeBomb(leafOf(blob));
      const bomb = await git(copy, "commit-tree", "-p", first, "-m", "Bomb", tree);
      const branch = name.replace(" ", "-");
      await push(bomb, branch);

      const tooLarge = { status: 422, code: "diff.too_large" };
      expect(await call(`/commit/${bomb}/file`)).to.deep.include(tooLarge);
      expect(await call(`/commit/${bomb}/diff?filePath=a.txt`)).to.deep.include(tooLarge);
      expect(await call(`/branch/compare?base=main&compare=${branch}`)).to.deep.include(tooLarge);
      const listing = await call(`/blob/recursive?commitHash=${bomb}&depth=10`);
      expect(listing).to.deep.include({ status: 422, code: "directory.too_large" });
      expect((await call(`/commits?branch=${branch}`)).status).to.equal(200);
      expect((await call(`/blob/recursive?commitHash=${bomb}&depth=2`)).status).to.equal(200);
    });
  }
});

describe("a directory that holds directories of nothing, ten times over at ten levels", () => {
  it("is in the way of a file by its name, and found so at once", async () => {
    const bomb = await git(copy, "commit-tree", "-p", first, "-m", "Nothing", treeBomb([]));
    await push(bomb, "nothing");
    const actions = [{ action: "CREATE", path: "d0", content: "x" }];
    const answer = await send("/commit", { branch: "nothing", message: "x", actions });
    expect(answer).to.deep.equal({ status: 422, code: "request.invalid" });
  });
});

describe("directories that hold more than may be in memory at once", () => {
  it("are not read to be compared", async () => {
    const repository = await app.git.find(project.id);
    const after = await git(copy, "rev-parse", `${first}^{tree}`);
    const compared = (bytesMax: number) =>
      compareTrees(repository!.objects, { before: undefined, after }, { ...treeLimits, bytesMax });
    expect(await compared(100)).to.have.length(1);
    await expect(compared(10)).to.be.rejectedWith("too large");
    expect(treeLimits.bytesMax).to.be.at.most(64 * 1024 ** 2);
  });
});

describe("a webhook's tale of a push with such a tree", () => {
  it("has the commit, without its files", async () => {
    const blob = await git(copy, "rev-parse", `${first}:a.txt`);
    const tree = treeBomb([`100644 blob ${blob}\tf`]);
    const bomb = await git(copy, "commit-tree", "-p", first, "-m", "Tale", tree);
    await push(bomb, "tale");
    const repository = await app.git.find(project.id);
    const { count, commits } = await summarisePush(repository!, bomb, [first], 20);
    expect([count, commits.length]).to.deep.equal([1, 1]);
    expect(commits[0]?.commit.message).to.equal("Tale\n");
    expect(commits[0]?.files).to.deep.equal({ added: [], modified: [], removed: [] });
  });
});

describe("upkeep of a repository with such a tree", () => {
  it("comes to an end, with the lists of commits it is for", async () => {
    const other = await app.project(anna, "upkeep");
    const bomb = await git(copy, "commit-tree", "-m", "Bomb", treeBomb([]));
    await git(copy, "push", "--quiet", app.remote(other, anna), `${bomb}:refs/heads/main`);
    const repository = await app.git.find(other.id);
    await repository!.maintain(500);

    const files = await readdir(path.join(repository!.gitDir, "objects/info/commit-graphs"));
    expect(files).to.include("commit-graph-chain").and.not.to.include("commit-graph-chain.lock");
  });
});

describe("counting what a push of such a tree brought", () => {
  for (const [name, leafOf] of [
    ["files", (blob: string) => [`100644 blob ${blob}\tf.ts`]],
    ["no files", () => []],
  ] as const) {
    it(`comes to an end, with its commits: ${name}`, async () => {
      const blob = await git(copy, "rev-parse", `${first}:a.txt`);
      const bomb = await git(copy, "commit-tree", "-p", first, "-m", "B", treeBomb(leafOf(blob)));
      const history = { tips: new Set([bomb]), except: new Set([first]), beside: [] };
      const never = new AbortController().signal;
      const counted = await countPushedExtensions(`${copy}/.git`, history, never, 500);
      expect(counted.commits).to.equal(1);
      expect([...counted.tips]).to.deep.equal([bomb]);
      expect([...counted.extensions]).to.deep.equal([]);
    });
  }
});

describe("directories nested by the thousand, and files by the ten thousand", () => {
  const imported = async (branch: string, paths: readonly string[]): Promise<string> => {
    const files = paths.map((path) => `M 100644 inline ${path}\ndata 2\na\n`);
    const input = [
      `commit refs/heads/${branch}`,
      "committer A <a@example.test> 1700000000 +0000",
      "data 1\nx",
      `from ${first}`,
      ...files,
      "",
    ].join("\n");
    execFileSync("git", ["fast-import", "--quiet", "--force"], { cwd: copy, input });
    const id = await git(copy, "rev-parse", branch);
    await push(id, branch);
    return id;
  };

  it("are refused where they would have to be walked", async () => {
    const deep = await imported("deep", [`${"d/".repeat(3_000)}f`]);
    expect(await call(`/commit/${deep}/file`)).to.deep.include({ code: "diff.too_large" });
    expect((await call(`/blob/recursive?commitHash=${deep}&depth=10`)).status).to.equal(200);

    const many = await imported(
      "many",
      Array.from({ length: 10_001 }, (_, index) => `f${index}`),
    );
    expect(await call(`/commit/${many}/file`)).to.deep.include({ code: "diff.too_large" });
  });
});

describe("a blob that is small in the pack and large in memory", () => {
  it("is shown by its size, not by what it holds", async () => {
    const before = process.memoryUsage().rss;
    const zeros = await commit(copy, "Zeros", { "zeros.txt": Buffer.alloc(96 * 1024 ** 2, "\n") });
    await push(zeros, "zeros");

    expect(await call(`/blob?commitHash=${zeros}&file=zeros.txt`)).to.deep.include({
      status: 400,
      code: "blob.too_large",
    });
    const diff = await call(`/commit/${zeros}/diff?filePath=zeros.txt`);
    expect(diff.status).to.equal(200);
    expect(diff.bytes).to.be.below(2_000);
    // The test itself holds the file once.
    expect(process.memoryUsage().rss - before).to.be.below(320 * 1024 ** 2);
  });

  it("is refused in a push when it would have to be put together in memory", async () => {
    const pack = deltaBomb(3 * 1024);
    expect(pack.length).to.be.below(64 * 1024);
    const command = `${"0".repeat(40)} ${first} refs/heads/delta\0 report-status`;
    const line = (command.length + 4).toString(16).padStart(4, "0") + command;
    const body = Buffer.concat([Buffer.from(`${line}0000`), pack]);
    const answer = await fetch(`${app.remote(project)}/git-receive-pack`, {
      method: "POST",
      headers: {
        authorization: basicAuth("anna", anna.token),
        "content-type": "application/x-git-receive-pack-request",
      },
      body: new Uint8Array(body),
    });
    const report = await answer.text();
    expect(report).to.contain("unpack ").and.not.to.contain("unpack ok");
    expect((await call("/branch?branchName=delta")).status).to.equal(404);
    expect((await call(`/commit/${first}/file`)).status).to.equal(200);
  });

  /** A blob of a mebibyte and one that copies it so many times. */
  function deltaBomb(mebibytes: number): Buffer {
    const base = Buffer.alloc(1024 ** 2);
    const id = createHash("sha1").update(`blob ${base.length}\0`).update(base).digest();
    const size = (value: number): number[] =>
      value < 128 ? [value] : [(value % 128) | 0x80, ...size(Math.floor(value / 128))];
    const copies = Array.from({ length: mebibytes }, () => [0xc0, 0x10]).flat();
    const delta = Buffer.from([...size(base.length), ...size(mebibytes * 1024 ** 2), ...copies]);
    const objectHead = (type: number, bytes: number): Buffer =>
      Buffer.from([
        (type << 4) | (bytes % 16) | (bytes > 15 ? 0x80 : 0),
        ...(bytes > 15 ? size(Math.floor(bytes / 16)) : []),
      ]);
    const content = Buffer.concat([
      Buffer.from("PACK\0\0\0\x02\0\0\0\x02", "latin1"),
      objectHead(3, base.length),
      deflateSync(base),
      objectHead(7, delta.length),
      id,
      deflateSync(delta),
    ]);
    return Buffer.concat([content, createHash("sha1").update(content).digest()]);
  }
});

describe("a commit whose message nobody could read", () => {
  const committed = async (branch: string, message: string): Promise<string> => {
    const blob = await git(copy, "rev-parse", `${first}:a.txt`);
    const tree = mktree(["a.txt", branch].map((name) => `100644 blob ${blob}\t${name}`));
    const person = "A <a@example.test> 1700000000 +0000";
    const lines = [`tree ${tree}`, `parent ${first}`, `author ${person}`, `committer ${person}`];
    const input = `${lines.join("\n")}\n\n${message}`;
    const args = ["hash-object", "-t", "commit", "-w", "--stdin"];
    const id = execFileSync("git", args, { cwd: copy, input }).toString().trim();
    await push(id, branch);
    return id;
  };

  it("is listed at once, though its subject is a run of spaces", async () => {
    const id = await committed("spaces", `a${" ".repeat(200_000)}b`);
    expect((await call(`/commit/${id}`)).status).to.equal(200);
    expect((await call("/commits?branch=spaces")).status).to.equal(200);
  });

  it("is shown by the beginning of it, and not picked without the rest", async () => {
    const id = await committed("long", "\u0001".repeat(2 * 1024 ** 2));
    expect((await call("/commits?branch=long")).bytes).to.be.below(1024 ** 2);
    const refused = { status: 422, code: "commit.message_too_long" };
    expect(await send(`/commit/${id}/cherry-pick`, { branchName: "main" })).to.include(refused);
  });

  it("is refused as the ground of anything, when it is too large to be read", async () => {
    const id = await committed("huge", "a".repeat(5 * 1024 ** 2));
    const child = await git(copy, "commit-tree", "-p", id, "-m", "On it", `${first}^{tree}`);
    await push(child, "on-huge");

    const tooLarge = { status: 422, code: "commit.too_large" };
    expect((await call(`/commit/${id}`)).status).to.equal(404);
    expect(await call(`/commit/${child}/file`)).to.deep.include(tooLarge);
    expect(await call("/branch/compare?base=huge&compare=on-huge")).to.deep.include({
      status: 404,
    });
    expect((await call("/branch?size=50")).status).to.equal(200);
    const actions = [{ action: "CREATE", path: "x", content: "x" }];
    const change = { branch: "huge", message: "x", actions };
    expect(await send("/commit", change)).to.include(tooLarge);
    expect(await git(copy, "ls-remote", app.remote(project, anna), "huge")).to.contain(id);
  });
});

describe("a comparison that git cannot finish", () => {
  const comparedWith = async (...efforts: readonly Partial<Effort>[]) => {
    const lines = Array.from({ length: 20_000 }, () => randomUUID()).join("\n");
    const id = await commit(copy, "Hard", { "hard.txt": lines, "easy.txt": "easy\n" });
    await push(id, `hard-${randomUUID()}`);
    const repository = await app.git.find(project.id);
    const tree = (revision: string) => git(copy, "rev-parse", `${revision}^{tree}`);
    const limited = efforts.map((effort, index) => ({ ...[thorough, modest][index]!, ...effort }));
    return changedFiles(repository!, await tree(`${id}~`), await tree(id), limited);
  };

  it("is tried once more with less, and shows what is too much as too large", async () => {
    const changes = await comparedWith({ timeoutMs: 1 }, { fileBytesMax: 100_000 });
    const hard = changes.find(({ newPath }) => newPath === "hard.txt");
    expect(hard).to.deep.include({ isLarge: true, isBinary: false, addedLines: 0 });
  });

  it("is tried once more when it takes too much memory", async () => {
    const changes = await comparedWith({ allocationBytesMax: 200_000 }, { fileBytesMax: 100_000 });
    const hard = changes.find(({ newPath }) => newPath === "hard.txt");
    expect(hard, "not looked into").to.deep.include({ isLarge: true, addedLines: 0 });
  });

  it("is refused in the end", async () => {
    await expect(comparedWith({ timeoutMs: 1 }, { timeoutMs: 1 })).to.be.rejectedWith(
      "takes too long",
    );
  });
});
