import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { codeOf } from "../../../support/app/answer.ts";
import { git, tryGit } from "../../../support/git/git.ts";
import { idOf, type Json, wanted } from "../../../support/git/merge-world.ts";
import { givenRequests } from "../../../support/merge-request/requests.ts";

const given = await givenRequests();
const { app, newWorld, anna, bob, carl, headIn } = given;

const listed = async (query = "") => {
  const { body, text } = await given.world.get(anna, `/merge-request/list${query}`);
  const embedded = body["_embedded"] as { mergeRequestModelList: Json[] };
  expect(embedded, text).to.be.an("object");
  return embedded.mergeRequestModelList.map(({ localId }) => localId);
};

describe("opening a merge request", () => {
  it("answers it whole, as every later read does", async () => {
    const label = await given.world.post(anna, "/label", {
      title: "bug",
      description: "",
      hexColor: "#ff0000",
    });
    const opened = await given.world.open({
      assignedUsers: [{ id: bob.id }],
      reviewers: [{ id: carl.id }, { alias: "Carl" }],
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
      projectAlias: given.world.project.alias,
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
    expect(opened["targetBranch"]).to.include({ id: "main", hash: given.world.head });
    expect(opened["sourceProject"]).to.include({ id: given.world.project.id, ownerAlias: "anna" });
    expect(opened["createdBy"]).to.include({ id: anna.id });
    expect((opened["assignedUsers"] as Json[]).map(idOf)).to.deep.equal([bob.id]);
    expect((opened["reviewers"] as Json[]).map(idOf)).to.deep.equal([carl.id]);
    expect((await given.world.get(bob, "/merge-request/1")).body).to.deep.equal(opened);
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
      const answer = await given.world.post(anna, "/merge-request", { ...wanted(), ...over });
      expect(codeOf(answer), JSON.stringify(over).slice(0, 200)).to.deep.equal([status, code]);
    }
    const large = { ...wanted(), description: "x".repeat(10 * 1024 ** 2) };
    expect((await given.world.post(anna, "/merge-request", large)).status).to.equal(413);
    expect(await listed()).to.deep.equal([]);
  });

  it("is refused while the two branches have an open one, also in a race", async () => {
    const answers = await Promise.all(
      [1, 2, 3].map(() => given.world.post(anna, "/merge-request", wanted())),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 422, 422]);
    await given.world.post(anna, "/merge-request/1/close");
    expect(await given.world.open()).to.include({ localId: 2 });
    const reopened = await given.world.post(anna, "/merge-request/1/reopen");
    expect(codeOf(reopened)).to.deep.equal([422, "merge_request.pair_taken"]);
    await given.world.post(anna, "/merge-request/2/cancel");
    expect((await given.world.post(anna, "/merge-request/1/reopen")).status).to.equal(200);
  });

  it("is for developers of the source", async () => {
    const answer = await given.world.post(carl, "/merge-request", wanted());
    expect(codeOf(answer)).to.deep.equal([403, "auth.role_missing"]);
    expect((await given.world.post(bob, "/merge-request", wanted())).status).to.equal(200);
  });

  it("is done once under one Idempotency-Key", async () => {
    const send = () => given.world.post(anna, "/merge-request", wanted(), "open-once");
    const [one, two] = [await send(), await send()];
    expect(one.status, one.text).to.equal(200);
    expect(two.body).to.deep.equal(one.body);
    expect(await listed()).to.deep.equal([1]);
  });
});

describe("the versions of a source", () => {
  it("cannot be pushed or deleted", async () => {
    await given.world.open();
    const before = (await headIn()).stdout;
    for (const spec of ["main:refs/merge-requests/1/head", ":refs/merge-requests/1/head"]) {
      const { exitCode, stderr } = await tryGit(given.world.copy, [
        "push",
        "--force",
        "origin",
        spec,
      ]);
      expect(exitCode, stderr).not.to.equal(0);
    }
    expect((await headIn()).stdout).to.equal(before);
  });
});

describe("editing a merge request", () => {
  it("changes what is given and leaves the rest, by number and by id", async () => {
    const opened = await given.world.open({ assignedUsers: [{ id: bob.id }] });
    await git(given.world.copy, "push", "--quiet", "origin", "main:refs/heads/release");
    const edited = await given.world.put(bob, "/merge-request/1", {
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
    const byId = await given.world.put(anna, "/merge-request", {
      id: opened["id"],
      title: "Third",
    });
    expect(byId.body).to.include({ title: "Third", workInProgress: false });
  });

  it("is refused for another source, a missing target, and another project's request", async () => {
    const opened = await given.world.open();
    for (const [body, status, code] of [
      [{ sourceBranch: { id: "main" } }, 422, "merge_request.source_fixed"],
      [{ sourceProject: { id: randomUUID() } }, 422, "merge_request.source_fixed"],
      [{ targetBranch: { id: "nowhere" } }, 404, "branch.not_found"],
      [{ targetBranch: { id: "feature" } }, 422, "merge_request.same_branch"],
    ] as const) {
      const answer = await given.world.put(anna, "/merge-request/1", body);
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
    await given.world.open();
    for (const send of [
      () => given.world.put(carl, "/merge-request/1", { title: "Mine" }),
      () => given.world.post(carl, "/merge-request/1/close"),
      () => given.world.post(carl, "/merge-request/1/cancel"),
    ]) {
      expect(codeOf(await send())).to.deep.equal([403, "auth.role_missing"]);
    }
  });

  it("moves the pair of branches it holds", async () => {
    await git(given.world.copy, "push", "--quiet", "origin", "main:refs/heads/release");
    await given.world.open();
    await given.world.put(anna, "/merge-request/1", { targetBranch: { id: "release" } });
    await given.world.open();
    const back = await given.world.put(anna, "/merge-request/1", { targetBranch: { id: "main" } });
    expect(codeOf(back)).to.deep.equal([422, "merge_request.pair_taken"]);
  });
});

describe("closing, reopening and cancelling", () => {
  it("follow the documented transitions; repeating one answers the same", async () => {
    await given.world.open();
    const status = async (verb: string) => {
      const answer = await given.world.post(anna, `/merge-request/1/${verb}`);
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
    const edited = await given.world.put(anna, "/merge-request/1", { title: "Late" });
    expect(codeOf(edited)).to.deep.equal([422, "merge_request.final"]);
  });
});

describe("the list of merge requests", () => {
  it("is filtered and sorted as requested", async () => {
    const [second] = await given.world.branch({ "b.txt": "b\n" });
    const bug = { title: "bug", description: "", hexColor: "#ff0000" };
    const { id: bugId } = (await given.world.post(anna, "/label", bug)).body;
    await given.world.open({ reviewers: [{ id: carl.id }], labels: [{ id: "bug" }] });
    await given.world.post(bob, "/merge-request", {
      ...wanted(),
      title: "WIP: Second 100%",
      sourceBranch: { id: second },
      assignedUsers: [{ id: carl.id }],
    });
    await given.world.post(anna, "/merge-request/1/close");
    for (const [query, expected] of [
      ["", [2, 1]],
      ["?order=asc", [1, 2]],
      ["?sort=updated", [1, 2]],
      ["?status=OPENED", [2]],
      ["?status=MERGED", []],
      ["?status=OPENED&status=CLOSED", [2, 1]],
      ["?status=MERGED,CLOSED", [1]],
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
    expect((await given.world.get(anna, "/merge-request/list?status=DONE")).status).to.equal(422);
  });
});
