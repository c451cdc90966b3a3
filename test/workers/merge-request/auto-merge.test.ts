import { expect } from "chai";
import { codeOf } from "../../support/app/answer.ts";
import { idOf } from "../../support/git/merge-world.ts";
import { givenAutoMerge } from "../../support/merge-request/auto-merge.ts";

const given = await givenAutoMerge();
const { app, anna, bob, carl, configure, wait, view, look } = given;

describe("merging when the pipeline succeeds", () => {
  it("waits while a demanded pipeline has not succeeded, and then merges as requested", async () => {
    const answer = await wait({ mergeStrategy: "SQUASH", squashCommitMessage: "Awaited" });
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.body).to.include({ mergeWhenPipelineSucceeds: true, canMerge: false });
    await look();
    expect(idOf((await view())["status"])).to.equal("OPENED");
    await configure({ checkCiCdStatus: false });
    await look();
    await look();
    const merged = await view();
    expect(idOf(merged["status"])).to.equal("MERGED");
    expect(merged["mergedBy"]).to.include({ id: bob.id });
    expect(merged["mergeCommit"]).to.include({ shortMessage: "Awaited" });
    expect(merged["mergeWhenPipelineSucceeds"]).to.equal(false);
    const moves = (await given.world.recordedChanges()).filter((line) =>
      line.startsWith("BranchUpdated main"),
    );
    expect(moves).to.deep.equal(["BranchUpdated main by bob"]);
  });

  it("is taken back by DELETE, a push and closing", async () => {
    const stops = [
      () => given.world.delete(anna, "/merge-request/1/merge"),
      () => given.world.push("feature", { "more.txt": "m\n" }),
      () => given.world.post(anna, "/merge-request/1/close"),
    ];
    for (const stop of stops) {
      expect((await wait()).body).to.include({ mergeWhenPipelineSucceeds: true });
      await stop();
      expect(await view()).to.include({ mergeWhenPipelineSucceeds: false });
    }
    expect(codeOf(await given.world.delete(carl, "/merge-request/1/merge"))).to.deep.equal([
      403,
      "auth.role_missing",
    ]);
  });

  it("says why it ended, until another one waits", async () => {
    await wait({ mergeStrategy: "FAST_FORWARD" });
    await given.world.push("main", { "main.txt": "m\n" });
    await configure({ checkCiCdStatus: false });
    await look();
    const dropped = (await view())["autoMergeDropped"];
    expect(dropped).to.include({ reason: "REFUSED", code: "merge.not_fast_forward" });
    expect(dropped)
      .to.have.property("message")
      .that.matches(/cannot fast-forward/);
    await configure({ checkCiCdStatus: true });
    expect((await wait()).body).to.include({ autoMergeDropped: null });
    await given.world.push("feature", { "more.txt": "m\n" });
    expect((await view())["autoMergeDropped"]).to.include({ reason: "PUSH", code: null });
  });

  it("merges at once where nothing is left to wait for, and is refused where more is missing", async () => {
    await given.world.put(anna, "/merge-request/1", { workInProgress: true });
    expect(codeOf(await wait())).to.deep.equal([422, "merge.requirements"]);
    await given.world.put(anna, "/merge-request/1", { workInProgress: false });
    await configure({ checkCiCdStatus: false });
    expect(idOf((await wait()).body["status"])).to.equal("MERGED");
  });

  it("ends without a merge when its requester lost the right to merge", async () => {
    await wait();
    await app.delete(given.world.at("/member/bob"), { token: anna.token });
    await configure({ checkCiCdStatus: false });
    await look();
    const after = await view();
    expect(after).to.include({ mergeWhenPipelineSucceeds: false });
    expect(idOf(after["status"])).to.equal("OPENED");
  });
});

describe("what is done in the name of a person who was banned meanwhile", () => {
  it("is no merge that they wait for", async () => {
    const root = await app.givenUser("root", { admin: true });
    const account = (verb: string) =>
      app.post(`/admin/user/${bob.id}/account/${verb}`, { token: root.token });
    expect((await wait()).status).to.equal(200);
    await configure({ checkCiCdStatus: false });
    expect((await account("ban")).status).to.equal(200);
    await look();
    expect(await view()).to.include({ mergeWhenPipelineSucceeds: false });
    expect(idOf((await view())["status"])).to.equal("OPENED");
  });
});
