import { expect } from "chai";
import { codeOf } from "../../../support/app/answer.ts";
import { git } from "../../../support/git/git.ts";
import { failing, givenFailures } from "../../../support/merge-request/failures.ts";

const given = await givenFailures();
const { anna, bob, view, reasons, givenDriver } = given;

describe("a merge that git fails at", () => {
  it("is over when git cannot read what is to be merged", async () => {
    await givenDriver(failing("error: unable to read sha1 file of a.txt"));
    await given.world.open();
    expect(await reasons()).to.deep.equal([["NO_CONFLICTS", "merge.failed"]]);
    const answer = await given.world.post(bob, "/merge-request/1/merge");
    expect(codeOf(answer), answer.text).to.deep.equal([422, "merge.failed"]);
    const failed = await view();
    expect(failed["status"]).to.include({ id: "FAILED" });
    expect(failed["failureReason"]).to.match(/unable to read/);
  });

  it("says that the target branch is gone", async () => {
    await git(given.world.copy, "push", "--quiet", "origin", "main:refs/heads/target");
    await given.world.open({ targetBranch: { id: "target" } });
    await git(given.world.copy, "push", "--quiet", "origin", ":refs/heads/target");
    expect(await reasons()).to.deep.equal([["NO_CONFLICTS", "branch.not_found"]]);
    const answer = await given.world.post(bob, "/merge-request/1/merge");
    expect(answer.body["detail"]).to.match(/target branch target does not exist/);
    expect((await given.world.get(anna, "/merge-request/list")).status).to.equal(200);
  });
});
