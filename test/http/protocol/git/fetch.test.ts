import path from "node:path";
import { expect } from "chai";
import { fetchWorld } from "../../../support/git/fetch-world.ts";
import { git } from "../../../support/git/git.ts";

const { app, parent, given, clone, expectMirror } = await fetchWorld();

describe("a clone", () => {
  it("has every ref, and its check finds nothing", async () => {
    await expectMirror(await clone("--mirror"));
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

  it("of a project without commits is empty", async () => {
    const empty = await app.project(given().anna, "empty");
    const into = path.join(parent, "empty");
    await git(parent, "clone", "--quiet", app.remote(empty, given().anna), into);
    expect(await git(into, "branch", "--show-current")).to.equal("main");
  });

  it("works at the path without .git, under /rest-api and at the root", async () => {
    const { project, anna } = given();
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
