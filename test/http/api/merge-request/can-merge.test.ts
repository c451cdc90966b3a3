import { expect } from "chai";

import { codeOf } from "../../../support/app/answer.ts";
import { git } from "../../../support/git/git.ts";
import type { Json } from "../../../support/git/merge-world.ts";
import { givenMerging } from "../../../support/merge-request/merging.ts";

const given = await givenMerging();
const { anna, bob, merging } = given;

/** What the view says of merging, which has to be what merging answers. */
async function agreed(localId = 1): Promise<readonly unknown[]> {
  const { body } = await given.world.get(bob, `/merge-request/${localId}`);
  const errors = body["mergeErrors"] as readonly Json[];
  expect(body["canMerge"]).to.equal(errors.length === 0);
  const answer = await merging({}, bob, localId);
  expect(answer.status === 200, answer.text).to.equal(body["canMerge"]);
  const codes = errors.map(({ code }) => code);
  if (errors.length > 0) expect(codes).to.include(answer.body["code"]);
  return [answer.status, ...codes];
}

const only = (mergeStrategy: string) =>
  given.world.put(anna, "/setting/merge", { mergeStrategy, allowedStrategies: [mergeStrategy] });

/** Of the branch: the second commit takes back what the first does, so that both together conflict with nothing. */
async function backAndForth(): Promise<void> {
  const files = (text: string) => ({ "c.txt": text });
  await given.world.push("main", files("a\n"));
  const [branch] = await given.world.branch(files("b\n"));
  await given.world.push(branch, { ...files("a\n"), "other.txt": "o\n" });
  await given.world.push("main", files("c\n"));
  await given.world.open({ sourceBranch: { id: branch } });
}

describe("what a request says of its merge", () => {
  it("is what merging answers where the target only fast-forwards", async () => {
    await only("FAST_FORWARD");
    await given.world.open();
    await given.world.push("main", { "main.txt": "m\n" });
    expect(await agreed()).to.deep.equal([409, "merge.not_fast_forward"]);
    const { copy } = given.world;
    await git(copy, "checkout", "--quiet", "feature");
    await git(copy, "rebase", "--quiet", "main");
    await git(copy, "push", "--quiet", "--force", "origin", "feature");
    expect(await agreed()).to.deep.equal([200]);
  });

  it("is what merging answers where a commit in the middle conflicts", async () => {
    await only("REBASE");
    await backAndForth();
    const objects = await git(given.world.gitDir, "count-objects");
    expect(await agreed()).to.deep.equal([409, "merge.conflict"]);
    expect(await git(given.world.gitDir, "count-objects")).to.equal(objects);
    const { body } = await merging();
    expect(body["files"]).to.deep.equal(["c.txt"]);
    await only("MERGE_COMMIT");
    expect(await agreed()).to.deep.equal([200]);
  });

  it("is that there is nothing to merge, or nothing left of a squash", async () => {
    await git(given.world.copy, "push", "--quiet", "origin", "main:refs/heads/same");
    await given.world.open({ sourceBranch: { id: "same" } });
    expect(await agreed()).to.deep.equal([422, "merge.nothing"]);
    await given.world.put(anna, "/setting/merge", { squash: "ALWAYS" });
    const { copy } = given.world;
    await git(copy, "checkout", "--quiet", "feature");
    await git(copy, "revert", "--no-edit", "HEAD");
    await git(copy, "push", "--quiet", "origin", "feature");
    await given.world.open();
    expect(await agreed(2)).to.deep.equal([422, "merge.nothing"]);
  });

  it("is why it is over", async () => {
    await given.world.open();
    await given.world.post(anna, "/merge-request/1/close");
    expect(await agreed()).to.deep.equal([422, "merge_request.closed"]);
    await given.world.post(anna, "/merge-request/1/reopen");
    expect(await agreed()).to.deep.equal([200]);
    expect(await agreed()).to.deep.equal([422, "merge_request.final"]);
  });

  it("names each requirement that is not met", async () => {
    await given.world.open({ workInProgress: true });
    await given.world.push("main", { "a.txt": "elsewhere\n" });
    const { body } = await given.world.get(bob, "/merge-request/1");
    const errors = (body["mergeErrors"] as Json[]).map((each) => [
      each["requirement"],
      each["code"],
    ]);
    expect(errors).to.deep.equal([
      ["WORK_NOT_IN_PROGRESS", "merge.requirement"],
      ["NO_CONFLICTS", "merge.conflict"],
    ]);
    expect(codeOf(await merging())).to.deep.equal([422, "merge.requirements"]);
  });
});
