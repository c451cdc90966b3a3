import { rm } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { startGitApp, type TestProject, type TestUser } from "../../support/app/git-app.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../support/git/git.ts";

const app = await startGitApp();
const parent = await temporaryDirectory();
let anna: TestUser;
let project: TestProject;
let copy: string;
let count = 0;

before(async () => {
  anna = await app.user("anna");
  project = await app.project(anna, "project");
  copy = await workingCopy(parent, "copy");
  for (let index = 1; index <= 5; index += 1) {
    await commit(copy, `Commit ${index}`, { "a.txt": `${index}\n`, [`dir/${index}.txt`]: "x\n" });
  }
  await git(copy, "tag", "-a", "v1", "-m", "Version 1");
  await git(copy, "push", "--quiet", app.remote(project, anna), "main", "v1");
});

async function clone(...options: string[]): Promise<string> {
  count += 1;
  const into = path.join(parent, `clone-${count}`);
  const config = options.filter((option) => option.includes("="));
  const flags = options.filter((option) => !option.includes("=") || option.startsWith("--"));
  const settings = config.filter((option) => !option.startsWith("--")).flatMap((s) => ["-c", s]);
  await git(parent, ...settings, "clone", "--quiet", ...flags, app.remote(project, anna), into);
  return into;
}

describe("a clone", () => {
  for (const version of ["0", "1", "2"]) {
    it(`by protocol version ${version} has every ref, and its check finds nothing`, async () => {
      const into = await clone(`protocol.version=${version}`, "--mirror");
      const format = "--format=%(objectname) %(refname)";

      expect(await git(into, "for-each-ref", format)).to.equal(
        await git(copy, "for-each-ref", format, "refs/heads", "refs/tags"),
      );
      await git(into, "fsck", "--full", "--strict");
    });
  }

  it("may be shallow, and deepened later", async () => {
    const into = await clone("--depth=2");
    expect(await git(into, "rev-list", "--count", "HEAD")).to.equal("2");
    await git(into, "fetch", "--quiet", "--unshallow");
    expect(await git(into, "rev-list", "--count", "HEAD")).to.equal("5");
  });

  it("may be partial, and fetches file contents when they are read", async () => {
    const into = await clone("--filter=blob:none", "--no-checkout");
    const missing = await git(into, "rev-list", "--objects", "--missing=print", "HEAD");
    expect(missing).to.match(/^\?[0-9a-f]{40}$/m);

    expect(await git(into, "show", "HEAD:a.txt")).to.equal("5");
  });

  it("may not be by a list of paths that git would have to look for", async () => {
    const partial = clone("--filter=sparse:oid=main:a.txt", "--no-checkout");
    await expect(partial).to.be.rejectedWith("filter 'sparse:oid' not supported");
  });

  it("of one branch fetches that one", async () => {
    const into = await clone("--single-branch", "--branch=main");
    expect(await git(into, "log", "-1", "--format=%s")).to.equal("Commit 5");
  });

  it("may send its wishes compressed", async () => {
    // Git compresses requests over 1024 bytes, which a fetch with many haves is.
    const into = await clone();
    for (let index = 0; index < 40; index += 1) {
      // Newer than everything the server knows, so that git names many of these before a common one.
      const env = { GIT_COMMITTER_DATE: `2037-01-01T00:00:${index + 10}Z` };
      await tryGit(into, ["commit", "--quiet", "--allow-empty", "-m", `Local ${index}`], env);
    }
    await commit(copy, "Commit 6");
    await git(copy, "push", "--quiet", app.remote(project, anna), "main");
    const { stderr } = await tryGit(into, ["fetch", "origin"], {
      GIT_CURL_VERBOSE: "1",
      GIT_TRACE_CURL: "1",
      GIT_TRACE_CURL_NO_DATA: "1",
    });

    expect(stderr).to.match(/content-encoding: gzip/i);
    expect(await git(into, "log", "-1", "--format=%s", "origin/main")).to.equal("Commit 6");
  });

  it("of a project without commits is empty", async () => {
    const empty = await app.project(anna, "empty");
    const into = path.join(parent, "empty");
    await git(parent, "clone", "--quiet", app.remote(empty, anna), into);
    expect(await git(into, "branch", "--show-current")).to.equal("main");
  });

  it("works at the path without .git, under /rest-api and at the root", async () => {
    const remote = app.remote(project, anna);
    for (const url of [
      remote.replace(/\.git$/, ""),
      remote.replace("/project", "/rest-api/project"),
      remote.replace("/project", ""),
    ]) {
      expect(await git(parent, "ls-remote", url, "main")).to.match(/refs\/heads\/main$/);
    }
  });
});

describe("this project's own history", () => {
  it("goes in and comes out whole", async () => {
    const own = await app.project(anna, "own");
    const source = path.join(parent, "source");
    // A copy of its own, so that the refs stay as they are while this runs.
    await git(parent, "clone", "--quiet", "--mirror", process.cwd(), source);
    // Branches and tags are what is pushed: a checkout in CI may hold other refs beside them.
    await git(source, "push", "--quiet", app.remote(own, anna), "refs/heads/*:refs/heads/*");
    const into = path.join(parent, "own");
    await git(parent, "clone", "--quiet", "--mirror", app.remote(own, anna), into);
    const format = "--format=%(objectname) %(refname)";

    expect(await git(into, "for-each-ref", format, "refs/heads")).to.equal(
      await git(source, "for-each-ref", format, "refs/heads"),
    );
    await git(into, "fsck", "--full", "--strict");
    await rm(source, { recursive: true });
  });
});
