import { expect } from "chai";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { git } from "../../support/git/git.ts";
import { idOf, type Json, type MergeWorld, mergeWorlds } from "../../support/git/merge-world.ts";

const app = await startTestApp({ workers: true });
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob } = people;
let world: MergeWorld;
/** A request from `upper` into `feature`, on top of the one from `feature` into `main`. */
beforeEach(async () => {
  world = await newWorld();
  await git(world.copy, "checkout", "--quiet", "-b", "upper", "feature");
  await world.push("upper", { "upper.txt": "u\n" });
  await world.open();
  await world.open({ sourceBranch: { id: "upper" }, targetBranch: { id: "feature" } });
});

const upper = async () => (await world.get(anna, "/merge-request/2")).body;
const goesTo = (branch: string) =>
  eventually(async () => idOf((await upper())["targetBranch"]) === branch);

describe("a request into a branch that is merged and removed", () => {
  it("goes into the target of that, in the name of who merged", async () => {
    await world.post(bob, "/merge-request/1/merge", { removeSourceBranch: true });
    await goesTo("main");
    expect(await upper()).to.include({ canMerge: true });
  });

  it("loses its approvals where a rule of the new target demands some", async () => {
    const rule = { targetBranch: "main", name: "One", minimalApprovals: 1 };
    const body = { ...rule, allowedApproversUuid: [anna.id, bob.id] };
    expect((await world.post(anna, "/merge-request/approval/rule/create", body)).status).to.equal(
      200,
    );
    for (const id of [1, 2]) await world.post(bob, `/merge-request/${id}/approve`);
    await world.post(bob, "/merge-request/1/merge", { removeSourceBranch: true });
    await goesTo("main");
    const errors = (await upper())["mergeErrors"] as Json[];
    expect(errors.map(({ code }) => code)).to.deep.equal(["approval.missing"]);
  });

  it("goes there after a push that merges and removes it at once", async () => {
    await git(world.copy, "push", "--quiet", "origin", "feature:main", ":feature");
    await goesTo("main");
  });

  it("stays where the branch is removed without a merge", async () => {
    await git(world.copy, "push", "--quiet", "origin", ":feature");
    await world.post(anna, "/merge-request/1/close");
    await git(world.copy, "push", "--quiet", "origin", "feature");
    expect(idOf((await upper())["targetBranch"])).to.equal("feature");
  });
});
