import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { handle } from "../../../../src/commands/core/handle.ts";
import { mergeRequest } from "../../../../src/commands/merge-request/merge-request.ts";
import { forgetUser } from "../../../../src/commands/user/forget-user.ts";
import { commandDeps } from "../../../../src/http/core/command-deps.ts";
import { metadataFor } from "../../../support/app/history.ts";
import { loggedIn } from "../../../support/app/site-world.ts";
import { git } from "../../../support/git/git.ts";
import { type Json, wanted } from "../../../support/git/merge-world.ts";
import { givenRequests } from "../../../support/merge-request/requests.ts";

const given = await givenRequests();
const { app, anna, bob, headIn } = given;

describe("opening a merge request", () => {
  it("numbers requests from 1 without gaps, also of many at once", async () => {
    const branches = ["x1", "x2", "x3", "x4", "x5"];
    for (const branch of branches) await git(given.world.copy, "branch", branch, "feature");
    await git(given.world.copy, "push", "--quiet", "--all", "origin");
    const opened = await Promise.all(
      branches.map((id) => given.world.open({ sourceBranch: { id } })),
    );
    const numbers = opened.map(({ localId }) => Number(localId)).sort();
    expect(numbers).to.deep.equal([1, 2, 3, 4, 5]);
  });
});

describe("the versions of a source", () => {
  it("are kept under a ref that is fetched by name and is no branch", async () => {
    const opened = await given.world.open();
    const { hash } = opened["sourceBranch"] as Json;
    expect((await headIn()).stdout).to.equal(`${hash}\trefs/merge-requests/1/head`);
    await git(
      given.world.copy,
      "fetch",
      "--quiet",
      "origin",
      "refs/merge-requests/1/head:refs/x/1",
    );
    expect(await git(given.world.copy, "rev-parse", "refs/x/1")).to.equal(hash);
    const branches = (await given.world.get(anna, "/branch")).body["_embedded"] as {
      branchList: Json[];
    };
    expect(branches.branchList.map(({ name }) => name)).to.deep.equal(["feature", "main"]);
    expect(await git(given.world.copy, "ls-remote", "origin")).to.contain(
      "refs/merge-requests/1/head",
    );
    expect([...(await given.world.refs()).keys()]).to.deep.equal([
      "refs/heads/feature",
      "refs/heads/main",
    ]);
  });

  it("follow pushes, also forced ones, and stay when the branch is deleted", async () => {
    await given.world.open();
    const second = await given.world.push("feature", { "feature.txt": "two\n" });
    const view = (await given.world.get(bob, "/merge-request/1")).body;
    expect(view["sourceBranch"]).to.include({ hash: second });
    expect((await headIn()).stdout).to.contain(second);
    await git(given.world.copy, "reset", "--quiet", "--hard", "main");
    const forced = await given.world.push("feature", { "feature.txt": "three\n" });
    await given.world.get(anna, "/merge-request/1");
    expect((await headIn()).stdout).to.contain(forced);
    await git(given.world.copy, "push", "--quiet", "origin", ":feature");
    const orphaned = (await given.world.get(anna, "/merge-request/1")).body;
    expect(orphaned["sourceBranch"]).to.include({ hash: forced, isDeleted: true });
    expect((await headIn()).stdout).to.contain(forced);
  });

  it("are read from packed refs as well", async () => {
    const opened = await given.world.open();
    await git(given.world.copy, `--git-dir=${given.world.gitDir}`, "pack-refs", "--all", "--prune");
    const { hash } = opened["sourceBranch"] as Json;
    expect((await headIn()).stdout).to.equal(`${hash}\trefs/merge-requests/1/head`);
  });
});

describe("editing a merge request", () => {
  it("takes other edits beside the longest description that is stored", async () => {
    await given.world.open();
    // As a service stored it that took such characters, each of which takes six bytes as JSON.
    const [{ id }] = await app.deps
      .db("merge_request")
      .where({ project_id: given.world.project.id });
    const description = "\u0001".repeat(100_000);
    const command = {
      type: "EditMergeRequest",
      change: { description },
      mayEditMerged: false,
      removesApprovals: false,
      projectId: given.world.project.id,
      by: anna.id,
      at: new Date().toISOString(),
    } as const;
    const { store, visible } = app.deps;
    const order = { id: String(id), command, metadata: metadataFor(randomUUID()) };
    await visible((await handle(store, mergeRequest, order)).position);
    const answer = await given.world.put(anna, "/merge-request/1", { title: "Other" });
    expect(answer.status, answer.text.slice(0, 200)).to.equal(200);
    expect(answer.body).to.include({ title: "Other", description });
  });
});

describe("an author who was forgotten", () => {
  it("is named neither in the request nor in a merge made later", async () => {
    const emil = await app.givenUser(`emil-${randomUUID().slice(0, 8)}`);
    const member = { userAlias: emil.alias, role: "DEVELOPER" };
    expect((await given.world.post(anna, "/member/invite", member)).status).to.equal(200);
    const opened = await given.world.post(emil, "/merge-request", wanted());
    expect(opened.body["createdBy"], opened.text).to.include({ id: emil.id });
    const { position } = await forgetUser(
      commandDeps(app.deps),
      emil.id,
      metadataFor(randomUUID()),
    );
    await app.deps.visible(position);
    const merged = await given.world.post(bob, "/merge-request/1/merge");
    expect(merged.status, merged.text).to.equal(200);
    const { createdBy, mergeCommit } = (await given.world.get(bob, "/merge-request/1")).body;
    const nobody = { id: emil.id, username: "", fullName: "deleted user" };
    expect(createdBy).to.include(nobody);
    const { hash } = mergeCommit as Json;
    expect(await git(given.world.gitDir, "log", "-1", "--format=%an <%ae>", String(hash))).to.equal(
      "deleted user <forgotten@users.invalid>",
    );
    const page = await (await loggedIn(app, bob)).see(given.world.at("/merge-request/1"));
    expect(page.text).to.match(/<dd>\s*deleted user\s*<.dd>/);
  });
});
