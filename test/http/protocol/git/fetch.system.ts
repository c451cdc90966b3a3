import { rm } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { fetchWorld } from "../../../support/git/fetch-world.ts";
import { commit, git, tryGit } from "../../../support/git/git.ts";

const { app, parent, given, clone, expectMirror } = await fetchWorld();

describe("a clone", () => {
  for (const version of ["0", "1"]) {
    it(`by protocol version ${version} has every ref, and its check finds nothing`, async () => {
      await expectMirror(await clone(`protocol.version=${version}`, "--mirror"));
    });
  }

  it("may be shallow, and deepened later", async () => {
    const into = await clone("--depth=2");
    expect(await git(into, "rev-list", "--count", "HEAD")).to.equal("2");
    await git(into, "fetch", "--quiet", "--unshallow");
    expect(await git(into, "rev-list", "--count", "HEAD")).to.equal("5");
  });

  it("of one branch fetches that one", async () => {
    const into = await clone("--single-branch", "--branch=main");
    expect(await git(into, "log", "-1", "--format=%s")).to.equal("Commit 5");
  });

  it("may send its wishes compressed", async () => {
    // Git compresses requests over 1024 bytes, which a fetch with many haves is.
    const { copy, project, anna } = given();
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
});

describe("this project's own history", () => {
  it("goes in and comes out whole", async () => {
    const own = await app.project(given().anna, "own");
    const source = path.join(parent, "source");
    // A copy of its own, so that the refs stay as they are while this runs.
    await git(parent, "clone", "--quiet", "--mirror", process.cwd(), source);
    // Branches and tags are what is pushed: a checkout in CI may hold other refs beside them.
    await git(
      source,
      "push",
      "--quiet",
      app.remote(own, given().anna),
      "refs/heads/*:refs/heads/*",
    );
    const into = path.join(parent, "own");
    await git(parent, "clone", "--quiet", "--mirror", app.remote(own, given().anna), into);
    const format = "--format=%(objectname) %(refname)";

    expect(await git(into, "for-each-ref", format, "refs/heads")).to.equal(
      await git(source, "for-each-ref", format, "refs/heads"),
    );
    await git(into, "fsck", "--full", "--strict");
    await rm(source, { recursive: true });
  });
});
