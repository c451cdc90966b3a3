import { expect } from "chai";
import { codeOf } from "../../../support/app/answer.ts";
import { git } from "../../../support/git/git.ts";
import { idOf } from "../../../support/git/merge-world.ts";
import { givenForkRequest } from "../../../support/merge-request/fork-request.ts";

const given = await givenForkRequest();
const { app, bob, carl, open, forkAt } = given;

describe("a merge request from a fork", () => {
  it("is opened by who may push to the fork and read the target, and merged by its developers", async () => {
    expect(codeOf(await open(bob))).to.deep.equal([403, "auth.role_missing"]);
    const opened = await open();
    expect(opened.status, opened.text).to.equal(200);
    expect(opened.body["sourceProject"]).to.include({ id: given.forkId, ownerAlias: "carl" });
    // The fork is private: a reader without access gets its id alone.
    const seen = (await given.world.get(bob, "/merge-request/1")).body;
    expect(seen["sourceProject"]).to.deep.include({ id: given.forkId, title: null, alias: null });
    expect(codeOf(await given.world.post(carl, "/merge-request/1/merge"))).to.deep.equal([
      403,
      "auth.role_missing",
    ]);
    const merged = await given.world.post(bob, "/merge-request/1/merge", {
      removeSourceBranch: true,
    });
    expect(idOf(merged.body["status"]), merged.text).to.equal("MERGED");
    await git(given.world.copy, "fetch", "--quiet", "origin");
    expect(await git(given.world.copy, "show", "origin/main:f.txt")).to.equal("fork");
    // Bob has no rights in the fork, so its branch stays.
    expect(await git(given.world.copy, "ls-remote", given.remote, "refs/heads/work")).not.to.equal(
      "",
    );
  });

  it("may be opened at the fork as well, naming the target", async () => {
    const opened = await app.post(forkAt("/merge-request"), {
      token: carl.token,
      body: {
        title: "Here",
        sourceBranch: { id: "work" },
        targetBranch: { id: "main" },
        targetProject: { id: given.world.project.id },
      },
    });
    expect(opened.status, opened.text).to.equal(200);
    expect(opened.body).to.include({ localId: 1, projectAlias: given.world.project.alias });
  });

  it("is brought up to date by who may push to the fork", async () => {
    expect((await open()).status).to.equal(200);
    const main = await given.world.push("main", { "main.txt": "m\n" });
    expect(codeOf(await given.world.post(bob, "/merge-request/1/rebase"))).to.deep.equal([
      403,
      "auth.role_missing",
    ]);
    const answer = await given.world.post(carl, "/merge-request/1/rebase");
    expect(answer.status, answer.text).to.equal(200);
    await git(given.world.copy, "fetch", "--quiet", given.remote, "work");
    expect(await git(given.world.copy, "rev-parse", "FETCH_HEAD~1")).to.equal(main);
    const head = await git(given.world.copy, "rev-parse", "FETCH_HEAD");
    expect(answer.body["sourceBranch"]).to.include({ hash: head });
  });
});
