import { symlink } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { codeOf } from "../../../support/app/answer.ts";
import { git } from "../../../support/git/git.ts";
import { givenMerging } from "../../../support/merge-request/merging.ts";

const given = await givenMerging();
const { anna, bob, carl, merging, merged, fetched, show, moves } = given;

describe("merging", () => {
  it("makes a commit of both branches by default, with the template's message", async () => {
    await given.world.open();
    const view = await merged();
    const head = await fetched();
    const feature = await fetched("feature");
    expect(await show("%P", head)).to.equal(`${given.world.head} ${feature}`);
    expect(await show("%an|%cn", head)).to.equal("anna|bob");
    const path = `anna/${given.world.project.alias}`;
    expect(await show("%B", head)).to.equal(
      `Merge branch 'feature' into 'main'\n\nFeature\n\nSee merge request ${path}!1`,
    );
    expect(view["mergeCommit"]).to.include({ hash: head });
    expect(view["mergedBy"]).to.include({ id: bob.id });
    expect(await git(given.world.copy, "show", `${head}:feature.txt`)).to.equal("one");
    expect(
      await git(given.world.copy, "ls-remote", "origin", "refs/merge-requests/1/merge"),
    ).to.contain(head);
    expect(await moves()).to.deep.equal(["BranchUpdated main by bob"]);
  });

  it("fast-forwards only where the target only moves forward", async () => {
    await given.world.open();
    await given.world.push("main", { "main.txt": "m\n" });
    const refused = await merging({ mergeStrategy: "FAST_FORWARD" });
    expect(codeOf(refused)).to.deep.equal([409, "merge.not_fast_forward"]);
    await git(given.world.copy, "checkout", "--quiet", "feature");
    await git(given.world.copy, "rebase", "--quiet", "main");
    await git(given.world.copy, "push", "--quiet", "--force", "origin", "feature");
    const view = await merged({ mergeStrategy: "FAST_FORWARD" });
    expect(await fetched()).to.equal(await fetched("feature"));
    expect(view["mergeCommit"]).to.include({ hash: await fetched() });
  });

  it("answers a conflict with the files and changes nothing", async () => {
    await given.world.open();
    await given.world.push("main", { "a.txt": "elsewhere\n" });
    const before = await fetched();
    const view = (await given.world.get(bob, "/merge-request/1")).body;
    expect(view).to.deep.include({ hasConflicts: true, conflicts: ["a.txt"], canMerge: false });
    for (const mergeStrategy of ["MERGE_COMMIT", "SQUASH", "REBASE"]) {
      const answer = await merging({ mergeStrategy });
      expect(codeOf(answer), answer.text).to.deep.equal([409, "merge.conflict"]);
      expect(answer.body["files"]).to.deep.equal(["a.txt"]);
    }
    expect(await fetched()).to.equal(before);
    expect((await given.world.get(bob, "/merge-request/1")).body["status"]).to.include({
      id: "OPENED",
    });
  });

  it("names files in conflict as a side has them, be one a directory now or a link", async () => {
    const { copy } = given.world;
    await given.world.push("main", { dir: "f\n", link: "f\n" });
    await git(copy, "checkout", "--quiet", "-b", "other", "main");
    await git(copy, "rm", "--quiet", "dir", "link");
    await symlink("a.txt", path.join(copy, "link"));
    await given.world.push("other", { "dir/x": "1\n" });
    await given.world.push("main", { dir: "f2\n", link: "f2\n" });
    const opened = await given.world.open({ sourceBranch: { id: "other" } });
    expect(opened).to.deep.include({ conflicts: ["dir", "link"], conflictsCount: 2 });
    expect((await merging()).body["files"]).to.deep.equal(["dir", "link"]);
  });

  it("rebases commits that were empty on purpose, and leaves out what the target has", async () => {
    const { copy } = given.world;
    await git(copy, "checkout", "--quiet", "feature");
    await git(copy, "commit", "--quiet", "--allow-empty", "-m", "Release");
    await git(copy, "push", "--quiet", "origin", "feature");
    await given.world.open();
    await git(copy, "checkout", "--quiet", "main");
    await git(copy, "cherry-pick", "feature~1");
    await git(copy, "commit", "--quiet", "--amend", "-m", "The same");
    await git(copy, "push", "--quiet", "origin", "main");
    await merged({ mergeStrategy: "REBASE" });
    const subjects = await git(
      copy,
      "log",
      "--format=%s",
      `${await git(copy, "rev-parse", "main~1")}..${await fetched()}`,
    );
    expect(subjects.split("\n")).to.deep.equal(["Release", "The same"]);
  });

  it("refuses to squash changes that cancel each other out", async () => {
    await given.world.open();
    const { copy } = given.world;
    await git(copy, "checkout", "--quiet", "feature");
    await git(copy, "revert", "--no-edit", "HEAD");
    await git(copy, "push", "--quiet", "origin", "feature");
    const answer = await merging({ mergeStrategy: "SQUASH" });
    expect(codeOf(answer), answer.text).to.deep.equal([422, "merge.nothing"]);
  });

  it("refuses what there is nothing to merge of, and what is over", async () => {
    await git(given.world.copy, "push", "--quiet", "origin", "main:refs/heads/same");
    const opened = await given.world.open({ sourceBranch: { id: "same" } });
    expect(opened).to.include({ canMerge: false, hasConflicts: false });
    expect(codeOf(await merging())).to.deep.equal([422, "merge.nothing"]);
    await given.world.post(anna, "/merge-request/1/close");
    expect(codeOf(await merging())).to.deep.equal([422, "merge_request.closed"]);
    await given.world.post(anna, "/merge-request/1/cancel");
    expect(codeOf(await merging())).to.deep.equal([422, "merge_request.final"]);
  });
});

describe("merging at the same time", () => {
  it("is answered again under the same Idempotency-Key", async () => {
    await given.world.open();
    const send = () => given.world.post(bob, "/merge-request/1/merge", {}, "merge-once");
    const [one, two] = [await send(), await send()];
    expect(one.status, one.text).to.equal(200);
    expect(two.body).to.deep.equal(one.body);
    expect(await moves()).to.have.length(1);
  });
});

describe("the settings for merging", () => {
  it("say which strategy is taken and which are allowed", async () => {
    const before = (await given.world.get(carl, "/setting/merge")).body;
    expect(before).to.deep.equal({
      mergeStrategy: "MERGE_COMMIT",
      allowedStrategies: ["MERGE_COMMIT", "SQUASH", "FAST_FORWARD", "REBASE"],
      squash: "ALLOWED",
    });
    const change = {
      mergeStrategy: "FAST_FORWARD",
      allowedStrategies: ["FAST_FORWARD"],
      squash: "NEVER",
    };
    expect((await given.world.put(anna, "/setting/merge", change)).body).to.deep.equal(change);
    await given.world.open();
    for (const [body, code] of [
      [{ mergeStrategy: "REBASE" }, "merge.strategy_not_allowed"],
      [{ squashCommit: true }, "merge.squash_not_allowed"],
    ] as const) {
      expect(codeOf(await merging(body))).to.deep.equal([422, code]);
    }
    await merged();
    expect(await fetched()).to.equal(await fetched("feature"));
  });

  it("may demand that every request is squashed", async () => {
    await given.world.put(anna, "/setting/merge", { squash: "ALWAYS" });
    await given.world.open();
    expect(codeOf(await merging({ squashCommit: false }))).to.deep.equal([
      422,
      "merge.squash_required",
    ]);
    await merged();
    expect(await show("%P", await fetched())).to.equal(given.world.head);
  });

  it("are refused when they contradict themselves, and to who is no administrator", async () => {
    const change = { mergeStrategy: "REBASE", allowedStrategies: ["SQUASH"] };
    expect(codeOf(await given.world.put(anna, "/setting/merge", change))).to.deep.equal([
      422,
      "merge_setting.strategy_not_allowed",
    ]);
    expect(codeOf(await given.world.put(bob, "/setting/merge", {}))).to.deep.equal([
      403,
      "auth.role_missing",
    ]);
  });

  it("hold templates whose variables are filled once", async () => {
    const templates = {
      mergeCommitMessage:
        "%{title}|%{source_branch}|%{target_branch}|%{local_reference}|%{unknown}\n\n%{description}\n\n%{approved_by}\n\n%{commit_titles}",
      canEditMergeCommitMessage: false,
      mergeRequestDescriptionTemplate: "Why?",
    };
    const put = await given.world.put(anna, "/setting/merge-message", templates);
    expect(put.body).to.include(templates);
    const opened = await given.world.open({ title: "%{description}", description: undefined });
    expect(opened["description"]).to.equal("Why?");
    expect(codeOf(await merging({ mergeCommitMessage: "Mine" }))).to.deep.equal([
      422,
      "merge.message_fixed",
    ]);
    await merged();
    expect(await show("%B", await fetched())).to.equal(
      "%{description}|feature|main|!1|%{unknown}\n\nWhy?\n\n* Feature",
    );
  });
});
