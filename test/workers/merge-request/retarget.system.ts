import { expect } from "chai";

import { repositoryStream } from "../../../src/events/repository/repository.ts";
import {
  mergeRequestRetarget,
  mergeRequestRetargetWorker,
} from "../../../src/workers/merge-request/retarget.ts";
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

/** Reacts to every event of a type in the repository, however often it was done before. */
async function reactTo(type: string): Promise<void> {
  const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };
  const { signal } = new AbortController();
  for await (const event of app.platform.store.readStream(repositoryStream(world.project.id))) {
    if (event.type !== type) continue;
    for (const { data } of await mergeRequestRetarget.react(event, deps)) {
      await mergeRequestRetargetWorker.runJob(data, deps, signal);
    }
  }
}

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

  it("stays where a branch of that name is removed without a merge", async () => {
    await world.post(bob, "/merge-request/1/merge", { removeSourceBranch: true });
    await goesTo("main");
    // Made anew, and given up.
    await world.push("feature", { "again.txt": "again\n" });
    await git(world.copy, "checkout", "--quiet", "-b", "third", "feature");
    await world.push("third", { "third.txt": "3\n" });
    await world.open({ sourceBranch: { id: "third" }, targetBranch: { id: "feature" } });
    await git(world.copy, "push", "--quiet", "origin", ":feature");
    await reactTo("BranchDeleted");
    expect(idOf((await world.get(anna, "/merge-request/3")).body["targetBranch"])).to.equal(
      "feature",
    );
  });
});
