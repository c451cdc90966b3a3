import { createHash, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../../support/git/git.ts";
import { needsProgram } from "../../../support/process/program.ts";

/** Driven by the real git-lfs, over HTTP with a token as the password. */
const app = await startTestApp();
const parent = await temporaryDirectory();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
const carla = await app.givenUser("carla");
const project = await app.givenProject(anna, "art");
await app.givenProject(anna, "other");
const at = "/project/anna/art";

const remote = (user: TestUser, name = "art") =>
  `${app.url.replace("//", `//${user.alias}:${user.token}@`)}/project/anna/${name}.git`;
const large = randomBytes(3 * 1024 ** 2);
const oid = createHash("sha256").update(large).digest("hex");
let copy: string;
let first: string;

const hasLfs = needsProgram("git-lfs");
before(async () => {
  if (!hasLfs) return;
  for (const [userAlias, role] of [
    ["boris", "DEVELOPER"],
    ["carla", "ADMIN"],
  ]) {
    const body = { userAlias, role };
    const invited = await app.post(`${at}/member/invite`, { token: anna.token, body });
    expect(invited.status, invited.text).to.equal(200);
  }
  copy = await lfsCopy("copy", anna);
  await git(copy, "lfs", "track", "*.bin");
  first = await commit(copy, "One", {
    "hero.bin": large,
    "deep/side kick.bin": "small",
    "a.txt": "a",
  });
  await git(copy, "push", "--quiet", "origin", "main");
});

async function lfsCopy(name: string, user: TestUser, of = "art"): Promise<string> {
  const directory = await workingCopy(parent, name);
  await git(directory, "lfs", "install", "--local");
  await git(directory, "remote", "add", "origin", remote(user, of));
  return directory;
}

async function cloned(name: string, user: TestUser): Promise<string> {
  const directory = await lfsCopy(name, user);
  await git(directory, "pull", "--quiet", "origin", "main");
  await git(directory, "branch", "--set-upstream-to=origin/main");
  return directory;
}

describe("git-lfs", () => {
  it("pushes objects, and others get them with a clone", async () => {
    const clone = await cloned("clone", boris);
    expect(await readFile(path.join(clone, "hero.bin"))).to.deep.equal(large);
    expect(await readFile(path.join(clone, "deep/side kick.bin"), "utf8")).to.equal("small");
    expect(await git(clone, "lfs", "ls-files")).to.include("hero.bin");
    await git(clone, "lfs", "fsck");
  });

  it("gets objects again that were lost here", async () => {
    const clone = await cloned("lossy", boris);
    await git(clone, "lfs", "prune", "--force", "--verify-remote").catch(() => undefined);
    await writeFile(path.join(clone, "hero.bin"), "");
    await git(clone, "checkout", "--", "hero.bin");
    await git(clone, "lfs", "fetch", "--all");
    await git(clone, "lfs", "checkout");
    expect(await readFile(path.join(clone, "hero.bin"))).to.deep.equal(large);
  });

  it("sends nothing again that is there", async () => {
    await commit(copy, "Copied", { "again.bin": large });
    const { stderr, exitCode } = await tryGit(copy, ["push", "origin", "main"]);
    expect(exitCode, stderr).to.equal(0);
    const stored = await app.deps.db("lfs_object").where({ oid });
    expect(stored).to.have.length(1);
  });

  it("cannot push an object that is not what it says", async () => {
    const answer = await app.send("PUT", `${at}.git/info/lfs/objects/${oid}/5`, {
      headers: basic(anna),
      body: "wrong",
    });
    expect(answer.status, answer.text).to.equal(422);
    expect(answer.headers.get("content-type")).to.include("application/vnd.git-lfs+json");
  });

  it("shows its files in listings, with their real size and who locked them", async () => {
    await git(copy, "lfs", "lock", "hero.bin");
    const list = async () => {
      const query = `commitHash=${first}&depth=1`;
      const answer = await app.get(`${at}/blob/recursive?${query}`, { token: boris.token });
      return (answer.body as unknown as { filePath: string }[]).find(
        ({ filePath }) => filePath === "hero.bin",
      );
    };
    const hero = { filePath: "hero.bin", extension: ".bin", size: large.length, lfsOid: oid };
    expect(await list()).to.deep.equal({ ...hero, lockedBy: "anna" });
    const query = "filepath=hero.bin&branchName=main";
    const size = await app.get(`/project/${project.id}/file-size?${query}`, { token: anna.token });
    expect(JSON.parse(size.text)).to.equal(`${large.length} bytes`);
    await git(copy, "lfs", "unlock", "hero.bin");
    expect(await list()).to.deep.equal({ ...hero, lockedBy: null });
  });

  it("shows its files as they are to who downloads them, and pointers to clients that request them", async () => {
    const down = (query = "", headers: Record<string, string> = {}) =>
      fetch(`${app.url}${at}/blob/download?commitHash=${first}&file=hero.bin${query}`, {
        headers: { authorization: `token ${boris.token}`, ...headers },
      });
    const whole = await down();
    expect(Buffer.from(await whole.arrayBuffer()).equals(large)).to.equal(true);
    expect(whole.headers.get("etag")).to.equal(`"${oid}"`);
    expect(whole.headers.get("content-disposition")).to.contain("hero.bin");
    const part = await down("", { range: "bytes=1000-1999" });
    expect(part.status).to.equal(206);
    const bytes = Buffer.from(await part.arrayBuffer());
    expect(bytes.equals(large.subarray(1000, 2000))).to.equal(true);
    const pointer = await down("&lfs=false");
    expect(await pointer.text()).to.contain(`oid sha256:${oid}`);
    expect(pointer.headers.get("etag")).not.to.contain(oid);
  });

  it("shows a pointer to an object that only other projects have as what it is", async () => {
    const stranger = await lfsCopy("stranger", anna, "other");
    await git(stranger, "lfs", "uninstall", "--local");
    const text = await git(copy, "cat-file", "blob", `${first}:hero.bin`);
    const id = await commit(stranger, "Stolen", { "hero.bin": `${text}\n` });
    await git(stranger, "push", "--quiet", "--no-verify", "origin", "main");
    const answer = await fetch(
      `${app.url}/project/anna/other/blob/download?commitHash=${id}&file=hero.bin`,
      { headers: { authorization: `token ${anna.token}` } },
    );
    expect(await answer.text()).to.equal(`${text}\n`);
    expect(answer.headers.get("cache-control")).to.equal("private, no-cache");
  });

  it("comes with a fork", async () => {
    const body = { ownerAlias: "boris", ownerAliasType: "USER", alias: "forked" };
    const forked = await app.post(`${at}/fork`, { token: boris.token, body });
    expect(forked.status, forked.text).to.equal(200);
    const clone = await workingCopy(parent, "of-fork");
    await git(clone, "lfs", "install", "--local");
    const url = remote(boris).replace("/anna/art.git", "/boris/forked.git");
    await git(clone, "remote", "add", "origin", url);
    await git(clone, "pull", "--quiet", "origin", "main");
    expect(await readFile(path.join(clone, "hero.bin"))).to.deep.equal(large);
  });
});

describe("the locks of git-lfs", () => {
  type Lock = Readonly<{ id: string; path: string; owner: { name: string } }>;
  const locks = async (directory: string) =>
    JSON.parse(await git(directory, "lfs", "locks", "--json")) as Lock[];
  let theirs: string;
  before(async () => {
    theirs = await cloned("theirs", boris);
  });
  afterEach(async () => {
    for (const { id } of await locks(copy)) {
      await app.post(`${at}.git/info/lfs/locks/${id}/unlock`, {
        headers: { ...basic(carla), "content-type": "application/vnd.git-lfs+json" },
        body: JSON.stringify({ force: true }),
      });
    }
  });

  it("are made once for a file, and listed for everybody", async () => {
    await git(copy, "lfs", "lock", "hero.bin");
    const [lock, ...more] = await locks(theirs);
    expect([lock?.path, lock?.owner.name, more.length]).to.deep.equal(["hero.bin", "anna", 0]);
    const again = await tryGit(theirs, ["lfs", "lock", "hero.bin"]);
    expect(again.exitCode).not.to.equal(0);
    expect(again.stderr + again.stdout).to.include("locked");
    const verified = await git(theirs, "lfs", "locks", "--verify");
    expect(verified).to.include("hero.bin").and.not.match(/^O /m);
    expect(await git(copy, "lfs", "locks", "--verify")).to.match(/^O .*hero\.bin/m);
  });

  it("are given up by their owner, and by force by administrators of the project alone", async () => {
    await git(copy, "lfs", "lock", "hero.bin");
    const plain = await tryGit(theirs, ["lfs", "unlock", "hero.bin"]);
    const forced = await tryGit(theirs, ["lfs", "unlock", "--force", "hero.bin"]);
    expect([plain.exitCode === 0, forced.exitCode === 0]).to.deep.equal([false, false]);
    expect(forced.stderr + forced.stdout).to.match(/administrators|have locked/i);
    expect(await locks(copy)).to.have.length(1);
    const admins = await cloned("admins", carla);
    await git(admins, "lfs", "unlock", "--force", "hero.bin");
    expect(await locks(copy)).to.deep.equal([]);
  });

  it("keep others from pushing the file, on every branch, and nobody from the rest", async () => {
    await git(theirs, "pull", "--quiet", "--rebase", "origin", "main");
    await git(copy, "lfs", "lock", "hero.bin");
    // Without the check that git-lfs makes itself before it pushes.
    const push = (...args: string[]) => tryGit(theirs, ["push", "--no-verify", "origin", ...args]);
    const start = await git(theirs, "rev-parse", "HEAD");
    await commit(theirs, "Theirs", { "hero.bin": "mine now" });
    for (const target of ["main", "main:other", "main:refs/tags/v1"]) {
      const refused = await push(target);
      expect(refused.exitCode, refused.stderr).not.to.equal(0);
      expect(refused.stderr).to.include("hero.bin is locked by anna");
    }
    // Beside one that is nobody's business.
    const both = await push(`${start}:refs/heads/fine`, "main:other");
    expect(both.stderr).to.include("hero.bin is locked by anna");
    // Hidden below a commit that changes it back.
    await git(theirs, "revert", "--no-edit", "HEAD");
    expect((await push("main")).exitCode).not.to.equal(0);
    await git(theirs, "reset", "--quiet", "--hard", start);
    await commit(theirs, "Else", { "b.txt": "b" });
    const allowed = await push("main");
    expect(allowed.exitCode, allowed.stderr).to.equal(0);
    expect((await app.get(`${at}/branch?branchName=other`, { token: anna.token })).status).to.equal(
      404,
    );

    await git(copy, "pull", "--quiet", "--rebase", "origin", "main");
    await commit(copy, "Mine", { "hero.bin": "the owner's" });
    await git(copy, "push", "--quiet", "origin", "main");
  });

  it("hold against commits over REST as well", async () => {
    await git(copy, "lfs", "lock", "a.txt").catch(() => undefined);
    const send = (user: TestUser, file: string) =>
      app.post(`${at}/commit`, {
        token: user.token,
        body: {
          branch: "main",
          message: "Over REST",
          actions: [{ action: "CREATE", path: file, content: "x", encoding: "text" }],
        },
      });
    const lock = await app.post(`${at}.git/info/lfs/locks`, {
      headers: { ...basic(anna), "content-type": "application/vnd.git-lfs+json" },
      body: JSON.stringify({ path: "rest.txt" }),
    });
    expect(lock.status, lock.text).to.equal(201);
    const refused = await send(boris, "rest.txt");
    expect([refused.status, refused.body["code"]]).to.deep.equal([409, "lfs_lock.of_others"]);
    expect((await send(boris, "free.txt")).status).to.equal(200);
    expect((await send(anna, "rest.txt")).status).to.equal(200);
  });

  it("are refused for what can be no file", async () => {
    for (const file of ["", "../x", ".git/config", "a/../b", "/", "x".repeat(5_000)]) {
      const answer = await app.post(`${at}.git/info/lfs/locks`, {
        headers: { ...basic(anna), "content-type": "application/vnd.git-lfs+json" },
        body: JSON.stringify({ path: file }),
      });
      expect(answer.status, `${file}: ${answer.text}`).to.equal(422);
    }
  });

  it("are read page by page", async () => {
    for (const name of ["a", "b", "c"])
      await git(copy, "lfs", "lock", `${name}.txt`).catch(() => 0);
    const lock = (file: string) =>
      app.post(`${at}.git/info/lfs/locks`, {
        headers: { ...basic(anna), "content-type": "application/vnd.git-lfs+json" },
        body: JSON.stringify({ path: file }),
      });
    for (const name of ["p/1", "p/2", "p/3"]) expect((await lock(name)).status).to.equal(201);
    const seen: string[] = [];
    let cursor = "";
    do {
      const query = `limit=2&cursor=${cursor}`;
      const { text } = await app.get(`${at}.git/info/lfs/locks?${query}`, { headers: basic(anna) });
      const page = JSON.parse(text) as { locks: Lock[]; next_cursor?: string };
      expect(page.locks.length).to.be.at.most(2);
      seen.push(...page.locks.map(({ path: file }) => file));
      cursor = page.next_cursor ?? "";
    } while (cursor !== "");
    expect(seen).to.include.members(["p/1", "p/2", "p/3"]);
    expect(new Set(seen).size).to.equal(seen.length);
    const one = await app.get(`${at}.git/info/lfs/locks?path=p%2F2`, { headers: basic(anna) });
    expect((JSON.parse(one.text) as { locks: Lock[] }).locks.map(({ path: p }) => p)).to.deep.equal(
      ["p/2"],
    );
  });
});

function basic({ alias, token }: TestUser): Record<string, string> {
  const credentials = Buffer.from(`${alias}:${token}`).toString("base64");
  return { authorization: `Basic ${credentials}` };
}
