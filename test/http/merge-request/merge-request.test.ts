import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { handle } from "../../../src/commands/core/handle.ts";
import { mergeRequest } from "../../../src/commands/merge-request/merge-request.ts";
import { forgetUser } from "../../../src/commands/user/forget-user.ts";
import { commandDeps } from "../../../src/http/core/command-deps.ts";
import { codeOf } from "../../support/app/answer.ts";
import { startTestApp } from "../../support/app/app.ts";
import { metadataFor } from "../../support/app/history.ts";
import { loggedIn } from "../../support/app/site-world.ts";
import { git, tryGit } from "../../support/git/git.ts";
import {
  idOf,
  type Json,
  type MergeWorld,
  mergeWorlds,
  wanted,
} from "../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;

let world: MergeWorld;
beforeEach(async () => {
  world = await newWorld();
});

const listed = async (query = "") => {
  const { body, text } = await world.get(anna, `/merge-request/list${query}`);
  const embedded = body["_embedded"] as { mergeRequestModelList: Json[] };
  expect(embedded, text).to.be.an("object");
  return embedded.mergeRequestModelList.map(({ localId }) => localId);
};

describe("opening a merge request", () => {
  it("answers it whole, as every later read does", async () => {
    const label = await world.post(anna, "/label", {
      title: "bug",
      description: "",
      hexColor: "#ff0000",
    });
    const opened = await world.open({
      assignedUsers: [{ id: bob.id }],
      reviewers: [{ id: carl.id }, { id: carl.id }],
      labels: [{ id: "bug" }],
      removeSourceBranch: "true",
    });
    expect(opened).to.deep.include({
      localId: 1,
      title: "Feature",
      description: "What it does",
      removeSourceBranch: true,
      squashCommit: false,
      workInProgress: false,
      projectAlias: world.project.alias,
      userAlias: "anna",
      canMerge: true,
      hasConflicts: false,
      conflicts: [],
      hasLockConflicts: false,
      lockConflicts: [],
      mergeCommit: null,
      labels: [label.body],
    });
    expect(opened["status"]).to.include({ id: "OPENED", title: "Open", icon: null });
    expect(opened["sourceBranch"]).to.include({ id: "feature", isDeleted: false });
    expect(opened["targetBranch"]).to.include({ id: "main", hash: world.head });
    expect(opened["sourceProject"]).to.include({ id: world.project.id, ownerAlias: "anna" });
    expect(opened["createdBy"]).to.include({ id: anna.id });
    expect((opened["assignedUsers"] as Json[]).map(idOf)).to.deep.equal([bob.id]);
    expect((opened["reviewers"] as Json[]).map(idOf)).to.deep.equal([carl.id]);
    expect((await world.get(bob, "/merge-request/1")).body).to.deep.equal(opened);
  });

  it("numbers requests from 1 without gaps, also of many at once", async () => {
    const branches = ["x1", "x2", "x3", "x4", "x5"];
    for (const branch of branches) await git(world.copy, "branch", branch, "feature");
    await git(world.copy, "push", "--quiet", "--all", "origin");
    const opened = await Promise.all(branches.map((id) => world.open({ sourceBranch: { id } })));
    const numbers = opened.map(({ localId }) => Number(localId)).sort();
    expect(numbers).to.deep.equal([1, 2, 3, 4, 5]);
  });

  it("is refused where a branch, person, label or project is not one that fits", async () => {
    const stranger = await app.givenUser(`stranger-${randomUUID().slice(0, 8)}`);
    const other = await app.givenProject(anna, `other-${randomUUID().slice(0, 8)}`);
    const foreign = await app.givenProject(stranger, "theirs");
    for (const [over, status, code] of [
      [{ title: " " }, 422, "request.invalid"],
      [{ title: "Good\n\nApproved-by: carl <carl@example.org>" }, 422, "request.invalid"],
      [{ title: "x".repeat(100 * 1024) }, 422, "request.invalid"],
      [{ description: "x".repeat(100_001) }, 422, "request.invalid"],
      [{ description: "a\u001b[0m" }, 422, "request.invalid"],
      [{ sourceBranch: { id: "main" } }, 422, "merge_request.same_branch"],
      [{ sourceBranch: { id: "nowhere" } }, 404, "branch.not_found"],
      [{ targetBranch: { id: "nowhere" } }, 404, "branch.not_found"],
      [{ targetBranch: { id: "--upload-pack=x" } }, 404, "branch.not_found"],
      [{ assignedUsers: [{ id: randomUUID() }] }, 404, "user.not_found"],
      [{ assignedUsers: [{ id: stranger.id }] }, 422, "user.cannot_read"],
      [{ reviewers: [{ id: stranger.id }] }, 422, "user.cannot_read"],
      [{ labels: [{ id: randomUUID() }] }, 404, "label.not_found"],
      [{ sourceProject: { id: randomUUID() } }, 404, "project.not_found"],
      [{ sourceProject: { id: foreign.id } }, 403, "auth.role_missing"],
      [{ targetProject: { id: foreign.id } }, 403, "auth.role_missing"],
      [{ sourceProject: { id: other.id } }, 422, "merge_request.unrelated_projects"],
      [
        { sourceProject: { id: other.id }, targetProject: { id: other.id } },
        422,
        "merge_request.unrelated_projects",
      ],
    ] as const) {
      const answer = await world.post(anna, "/merge-request", { ...wanted(), ...over });
      expect(codeOf(answer), JSON.stringify(over).slice(0, 200)).to.deep.equal([status, code]);
    }
    const large = { ...wanted(), description: "x".repeat(10 * 1024 ** 2) };
    expect((await world.post(anna, "/merge-request", large)).status).to.equal(413);
    expect(await listed()).to.deep.equal([]);
  });

  it("is refused while the two branches have an open one, also in a race", async () => {
    const answers = await Promise.all(
      [1, 2, 3].map(() => world.post(anna, "/merge-request", wanted())),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 422, 422]);
    await world.post(anna, "/merge-request/1/close");
    expect(await world.open()).to.include({ localId: 2 });
    const reopened = await world.post(anna, "/merge-request/1/reopen");
    expect(codeOf(reopened)).to.deep.equal([422, "merge_request.pair_taken"]);
    await world.post(anna, "/merge-request/2/cancel");
    expect((await world.post(anna, "/merge-request/1/reopen")).status).to.equal(200);
  });

  it("is for developers of the source", async () => {
    const answer = await world.post(carl, "/merge-request", wanted());
    expect(codeOf(answer)).to.deep.equal([403, "auth.role_missing"]);
    expect((await world.post(bob, "/merge-request", wanted())).status).to.equal(200);
  });

  it("is done once under one Idempotency-Key", async () => {
    const send = () => world.post(anna, "/merge-request", wanted(), "open-once");
    const [one, two] = [await send(), await send()];
    expect(one.status, one.text).to.equal(200);
    expect(two.body).to.deep.equal(one.body);
    expect(await listed()).to.deep.equal([1]);
  });
});

describe("the versions of a source", () => {
  const headIn = () => tryGit(world.copy, ["ls-remote", "origin", "refs/merge-requests/1/head"]);

  it("are kept under a ref that is fetched by name and is no branch", async () => {
    const opened = await world.open();
    const { hash } = opened["sourceBranch"] as Json;
    expect((await headIn()).stdout).to.equal(`${hash}\trefs/merge-requests/1/head`);
    await git(world.copy, "fetch", "--quiet", "origin", "refs/merge-requests/1/head:refs/x/1");
    expect(await git(world.copy, "rev-parse", "refs/x/1")).to.equal(hash);
    const branches = (await world.get(anna, "/branch")).body["_embedded"] as { branchList: Json[] };
    expect(branches.branchList.map(({ name }) => name)).to.deep.equal(["feature", "main"]);
    expect(await git(world.copy, "ls-remote", "origin")).to.contain("refs/merge-requests/1/head");
    expect([...(await world.refs()).keys()]).to.deep.equal([
      "refs/heads/feature",
      "refs/heads/main",
    ]);
  });

  it("cannot be pushed or deleted", async () => {
    await world.open();
    const before = (await headIn()).stdout;
    for (const spec of ["main:refs/merge-requests/1/head", ":refs/merge-requests/1/head"]) {
      const { exitCode, stderr } = await tryGit(world.copy, ["push", "--force", "origin", spec]);
      expect(exitCode, stderr).not.to.equal(0);
    }
    expect((await headIn()).stdout).to.equal(before);
  });

  it("follow pushes, also forced ones, and stay when the branch is deleted", async () => {
    await world.open();
    const second = await world.push("feature", { "feature.txt": "two\n" });
    const view = (await world.get(bob, "/merge-request/1")).body;
    expect(view["sourceBranch"]).to.include({ hash: second });
    expect((await headIn()).stdout).to.contain(second);
    await git(world.copy, "reset", "--quiet", "--hard", "main");
    const forced = await world.push("feature", { "feature.txt": "three\n" });
    await world.get(anna, "/merge-request/1");
    expect((await headIn()).stdout).to.contain(forced);
    await git(world.copy, "push", "--quiet", "origin", ":feature");
    const orphaned = (await world.get(anna, "/merge-request/1")).body;
    expect(orphaned["sourceBranch"]).to.include({ hash: forced, isDeleted: true });
    expect((await headIn()).stdout).to.contain(forced);
  });

  it("are read from packed refs as well", async () => {
    const opened = await world.open();
    await git(world.copy, `--git-dir=${world.gitDir}`, "pack-refs", "--all", "--prune");
    const { hash } = opened["sourceBranch"] as Json;
    expect((await headIn()).stdout).to.equal(`${hash}\trefs/merge-requests/1/head`);
  });
});

describe("editing a merge request", () => {
  it("changes what is given and leaves the rest, by number and by id", async () => {
    const opened = await world.open({ assignedUsers: [{ id: bob.id }] });
    await git(world.copy, "push", "--quiet", "origin", "main:refs/heads/release");
    const edited = await world.put(bob, "/merge-request/1", {
      title: "Draft: Other",
      targetBranch: { id: "release" },
      sourceBranch: { id: "feature" },
    });
    expect(edited.status, edited.text).to.equal(200);
    expect(edited.body).to.deep.include({
      title: "Draft: Other",
      description: opened["description"],
      workInProgress: true,
      canMerge: false,
      assignedUsers: opened["assignedUsers"],
    });
    expect(idOf(edited.body["targetBranch"])).to.equal("release");
    const byId = await world.put(anna, "/merge-request", { id: opened["id"], title: "Third" });
    expect(byId.body).to.include({ title: "Third", workInProgress: false });
  });

  it("takes other edits beside the longest description that is stored", async () => {
    await world.open();
    // As a service stored it that took such characters, each of which takes six bytes as JSON.
    const [{ id }] = await app.deps.db("merge_request").where({ project_id: world.project.id });
    const description = "\u0001".repeat(100_000);
    const command = {
      type: "EditMergeRequest",
      change: { description },
      mayEditMerged: false,
      removesApprovals: false,
      projectId: world.project.id,
      by: anna.id,
      at: new Date().toISOString(),
    } as const;
    const { store, visible } = app.deps;
    const order = { id: String(id), command, metadata: metadataFor(randomUUID()) };
    await visible((await handle(store, mergeRequest, order)).position);
    const answer = await world.put(anna, "/merge-request/1", { title: "Other" });
    expect(answer.status, answer.text.slice(0, 200)).to.equal(200);
    expect(answer.body).to.include({ title: "Other", description });
  });

  it("is refused for another source, a missing target, and another project's request", async () => {
    const opened = await world.open();
    for (const [body, status, code] of [
      [{ sourceBranch: { id: "main" } }, 422, "merge_request.source_fixed"],
      [{ sourceProject: { id: randomUUID() } }, 422, "merge_request.source_fixed"],
      [{ targetBranch: { id: "nowhere" } }, 404, "branch.not_found"],
      [{ targetBranch: { id: "feature" } }, 422, "merge_request.same_branch"],
    ] as const) {
      const answer = await world.put(anna, "/merge-request/1", body);
      expect(codeOf(answer), answer.text).to.deep.equal([status, code]);
    }
    const other = await newWorld();
    const foreign = await other.put(anna, "/merge-request", { id: opened["id"], title: "Mine" });
    expect(codeOf(foreign)).to.deep.equal([404, "merge_request.not_found"]);
    expect(codeOf(await other.get(anna, "/merge-request/1"))).to.deep.equal([
      404,
      "merge_request.not_found",
    ]);
  });

  it("is for the author and developers", async () => {
    await world.open();
    for (const send of [
      () => world.put(carl, "/merge-request/1", { title: "Mine" }),
      () => world.post(carl, "/merge-request/1/close"),
      () => world.post(carl, "/merge-request/1/cancel"),
    ]) {
      expect(codeOf(await send())).to.deep.equal([403, "auth.role_missing"]);
    }
  });

  it("moves the pair of branches it holds", async () => {
    await git(world.copy, "push", "--quiet", "origin", "main:refs/heads/release");
    await world.open();
    await world.put(anna, "/merge-request/1", { targetBranch: { id: "release" } });
    await world.open();
    const back = await world.put(anna, "/merge-request/1", { targetBranch: { id: "main" } });
    expect(codeOf(back)).to.deep.equal([422, "merge_request.pair_taken"]);
  });
});

describe("closing, reopening and cancelling", () => {
  it("follow the documented transitions; repeating one answers the same", async () => {
    await world.open();
    const status = async (verb: string) => {
      const answer = await world.post(anna, `/merge-request/1/${verb}`);
      return answer.status === 200 ? idOf(answer.body["status"]) : answer.body["code"];
    };
    expect(await status("close")).to.equal("CLOSED");
    expect(await status("close")).to.equal("CLOSED");
    expect(await status("reopen")).to.equal("OPENED");
    expect(await status("reopen")).to.equal("OPENED");
    expect(await status("cancel")).to.equal("CANCELED");
    expect(await status("cancel")).to.equal("CANCELED");
    expect(await status("reopen")).to.equal("merge_request.final");
    expect(await status("close")).to.equal("merge_request.final");
    const edited = await world.put(anna, "/merge-request/1", { title: "Late" });
    expect(codeOf(edited)).to.deep.equal([422, "merge_request.final"]);
  });
});

describe("the list of merge requests", () => {
  it("is filtered and sorted as requested", async () => {
    const [second] = await world.branch({ "b.txt": "b\n" });
    const bug = { title: "bug", description: "", hexColor: "#ff0000" };
    const { id: bugId } = (await world.post(anna, "/label", bug)).body;
    await world.open({ reviewers: [{ id: carl.id }], labels: [{ id: "bug" }] });
    await world.post(bob, "/merge-request", {
      ...wanted(),
      title: "WIP: Second 100%",
      sourceBranch: { id: second },
      assignedUsers: [{ id: carl.id }],
    });
    await world.post(anna, "/merge-request/1/close");
    for (const [query, expected] of [
      ["", [2, 1]],
      ["?order=asc", [1, 2]],
      ["?sort=updated", [1, 2]],
      ["?status=OPENED", [2]],
      ["?status=MERGED", []],
      ["?author=bob", [2]],
      ["?author=nobody", []],
      [`?author=${bob.id}`, [2]],
      [`?reviewer=${carl.id}`, [1]],
      [`?assignee=${randomUUID()}`, []],
      ["?assignee=carl", [2]],
      ["?reviewer=carl", [1]],
      ["?draft=true", [2]],
      ["?draft=false", [1]],
      [`?sourceBranch=${second}`, [2]],
      ["?targetBranch=main", [2, 1]],
      ["?q=second", [2]],
      ["?q=100%25", [2]],
      ["?q=_______________________", []],
      ["?label=none", []],
      ["?label=bug&label=none", []],
      [`?label=Bug&label=${bugId}`, [1]],
      [`?updatedAfter=${new Date(Date.now() + 60_000).toISOString()}`, []],
      ["?updatedAfter=2999-01-01", []],
      ["?size=1&page=1", [1]],
    ] as const) {
      expect(await listed(query), query).to.deep.equal(expected);
    }
    expect((await world.get(anna, "/merge-request/list?status=DONE")).status).to.equal(422);
  });
});

describe("an author who was forgotten", () => {
  it("is named neither in the request nor in a merge made later", async () => {
    const emil = await app.givenUser(`emil-${randomUUID().slice(0, 8)}`);
    const member = { userAlias: emil.alias, role: "DEVELOPER" };
    expect((await world.post(anna, "/member/invite", member)).status).to.equal(200);
    const opened = await world.post(emil, "/merge-request", wanted());
    expect(opened.body["createdBy"], opened.text).to.include({ id: emil.id });
    const { position } = await forgetUser(
      commandDeps(app.deps),
      emil.id,
      metadataFor(randomUUID()),
    );
    await app.deps.visible(position);
    const merged = await world.post(bob, "/merge-request/1/merge");
    expect(merged.status, merged.text).to.equal(200);
    const { createdBy, mergeCommit } = (await world.get(bob, "/merge-request/1")).body;
    const nobody = { id: emil.id, username: "", fullName: "deleted user" };
    expect(createdBy).to.include(nobody);
    const { hash } = mergeCommit as Json;
    expect(await git(world.gitDir, "log", "-1", "--format=%an <%ae>", String(hash))).to.equal(
      "deleted user <forgotten@users.invalid>",
    );
    const page = await (await loggedIn(app, bob)).see(world.at("/merge-request/1"));
    expect(page.text).to.match(/<dd>\s*deleted user\s*<.dd>/);
  });
});
