import { cp } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { repositoryStream } from "../../../../src/events/repository/repository.ts";
import {
  type Send,
  startTestApp,
  type TestProject,
  type TestUser,
} from "../../../support/app/app.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../../support/git/git.ts";

const app = await startTestApp();
const parent = await temporaryDirectory();
const template = await workingCopy(parent, "template");
const as = (user: { token: string }, body?: unknown): Send => ({ token: user.token, body });

let anna: TestUser;
let bob: TestUser;
let project: TestProject;
let copy: string;
let count = 0;

before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
  await commit(template, "One", { "a.txt": "a\n" });
  await commit(template, "Two", { "a.txt": "b\n" });
});

const remote = (user: TestUser) => {
  const url = new URL(`/project/anna/${project.alias}.git`, app.url);
  Object.assign(url, { username: user.alias, password: user.token });
  return url.href;
};
const at = (rest: string) => `/project/anna/${project.alias}${rest}`;
const protectBranch = (branchTemplate: string, over: object = {}) =>
  app.post(at("/branch-protection/create"), as(anna, { branchTemplate, ...over }));
const protectTag = (tagTemplate: string, allowToCreate: string) =>
  app.post(at("/tag-protection/create"), as(anna, { tagTemplate, allowToCreate }));
const push = (user: TestUser, ...args: string[]) => tryGit(copy, ["push", remote(user), ...args]);
const refs = async () =>
  (await git(copy, "ls-remote", remote(anna)))
    .split("\n")
    .map((line) => line.split("\t")[1] ?? "")
    .filter((ref) => ref.startsWith("refs/") && !ref.endsWith("^{}"));
const events = async () => {
  const types: string[] = [];
  for await (const { type } of app.platform.store.readStream(repositoryStream(project.id))) {
    types.push(type);
  }
  return types;
};

/** Bob may push; main is there, one commit behind the working copy. */
beforeEach(async () => {
  count += 1;
  project = await app.givenProject(anna, `project-${count}`);
  await app.post(at("/member/invite"), as(anna, { userAlias: "bob", role: "DEVELOPER" }));
  copy = path.join(parent, `copy-${count}`);
  await cp(template, copy, { recursive: true });
  await git(copy, "push", "--quiet", remote(anna), "main~1:refs/heads/main");
});

describe("a push to what is protected", () => {
  it("changes what is allowed, and reports to git which is not and why", async () => {
    await protectBranch("main", { allowedToPush: "ADMINS" });
    await protectTag("v*", "NO_ONE");
    await git(copy, "tag", "v1");
    await git(copy, "tag", "nightly");
    const { exitCode, stderr } = await push(bob, "main", "main:dev", "v1", "nightly");
    expect(exitCode).to.equal(1);
    expect(stderr).to.match(/\[remote rejected\] main -> main \(protected branch\)/);
    expect(stderr).to.match(/\[remote rejected\] v1 -> v1 \(protected tag\)/);
    expect(stderr).to.match(/\[new branch\] +main -> dev/);
    expect(stderr).to.match(/\[new tag\] +nightly -> nightly/);
    expect(await refs()).to.deep.equal(["refs/heads/dev", "refs/heads/main", "refs/tags/nightly"]);
    expect(await events()).to.deep.equal(["BranchCreated", "BranchCreated", "TagCreated"]);
  });

  it("is refused as a whole when nothing of it is allowed, with no event, at NO_ONE to everybody", async () => {
    await protectBranch("**", { allowedToPush: "ADMINS" });
    await protectBranch("closed", { allowedToPush: "NO_ONE" });
    const head = await app.head();
    for (const refspec of ["main", "main:release/1"]) {
      const { exitCode, stderr } = await push(bob, refspec);
      expect(exitCode, stderr).to.equal(1);
      expect(stderr).to.contain("(protected branch)");
    }
    expect((await push(anna, "main:closed")).stderr).to.contain("(protected branch)");
    expect(await app.head()).to.equal(head);
    expect((await push(anna, "main")).exitCode).to.equal(0);
  });

  it("is refused as a whole when it is atomic and one ref is refused", async () => {
    await protectBranch("main", { allowedToPush: "ADMINS" });
    const { exitCode, stderr } = await push(bob, "--atomic", "main", "main:dev");
    expect(exitCode).to.equal(1);
    expect(stderr).to.contain("(protected branch)").and.to.contain("(atomic push failed)");
    expect(await refs()).to.deep.equal(["refs/heads/main"]);
  });

  it("may not lose commits of a branch, unless a rule lets it", async () => {
    await protectBranch("main", { allowedToPush: "DEVELOPER" });
    expect((await push(bob, "main")).exitCode).to.equal(0);
    await git(copy, "reset", "--quiet", "--hard", "HEAD~1");
    await commit(copy, "Another", { "a.txt": "c\n" });
    const forced = await push(bob, "--force", "main");
    expect(forced.exitCode).to.equal(1);
    expect(forced.stderr).to.contain("[remote rejected] main -> main (non-fast-forward)");
    await git(copy, "reset", "--quiet", "--hard", "HEAD~1");
    expect((await push(bob, "--force", "main")).stderr).to.contain("non-fast-forward");

    const { body } = await app.get(at("/branch-protection"), as(anna));
    const { branchProtectionApiModelList: rules } = body["_embedded"] as {
      branchProtectionApiModelList: { uuid: string }[];
    };
    const change = { uuid: rules[0]?.uuid, allowForcePush: true };
    await app.send("PATCH", at("/branch-protection/edit"), as(anna, change));
    expect((await push(bob, "--force", "main")).exitCode).to.equal(0);
  });

  it("never deletes a protected branch, and moves and deletes a protected tag by its level", async () => {
    await protectTag("v*", "ADMINS");
    await git(copy, "tag", "v1");
    expect((await push(anna, "v1", "main:dev")).exitCode).to.equal(0);
    await protectBranch("dev", { allowedToPush: "DEVELOPER" });
    expect((await push(anna, ":dev")).stderr).to.contain("cannot be deleted");
    expect((await push(bob, ":v1")).stderr).to.contain("(protected tag)");
    expect((await push(bob, "--force", "HEAD~1:refs/tags/v1")).stderr).to.contain("protected tag");
    expect((await push(anna, ":v1")).exitCode).to.equal(0);
  });

  it("follows the switch of the team above at once", async () => {
    await app.post("/team", as(anna, { title: "T", alias: `team-${count}` }));
    await app.post(
      at("/transfer"),
      as(anna, { ownerAlias: `team-${count}`, ownerAliasType: "TEAM" }),
    );
    const team = `/team/team-${count}`;
    const url = remote(bob).replace("/anna/", `/team-${count}/`);
    const rule = { branchTemplate: "main", allowedToPush: "ADMINS" };
    await app.post(`${team}/branch-protection/create`, as(anna, rule));
    expect((await tryGit(copy, ["push", url, "main"])).exitCode).to.equal(0);
    await app.post(`${team}/setting/import`, as(anna, { allowImportBranchProtection: true }));
    await commit(copy, "Three", { "a.txt": "d\n" });
    const refused = await tryGit(copy, ["push", url, "main"]);
    expect(refused.stderr).to.contain("(protected branch)");
  });
});

describe("the default branch", () => {
  it("is changed to one that is there, and a clone checks it out", async () => {
    await git(copy, "push", "--quiet", remote(anna), "main:trunk");
    const change = as(anna, { branchName: "trunk" });
    const { status, body } = await app.put(at("/setting/default-branch"), change);
    expect(status).to.equal(200);
    expect(body).to.include({ defaultBranch: "trunk" });
    expect(await git(copy, "ls-remote", "--symref", remote(anna), "HEAD")).to.contain(
      "ref: refs/heads/trunk",
    );
  });
});
