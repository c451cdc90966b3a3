import { expect } from "chai";
import { checkMerge } from "../../../src/git/merge-commits.ts";
import {
  dropMergeChecks,
  mergeChecks,
} from "../../../src/projections/merge-request/merge-check.ts";
import { mergeCheck } from "../../../src/workers/merge-request/merge-check.ts";
import { givenMergeChecks } from "../../support/merge-request/merge-checks.ts";

const given = await givenMergeChecks();
const { app, people, db, deps, rows, run, pushed } = given;

const repository = async () => (await app.deps.git.find(given.world.project.id))!;

describe("checking merges after a push to the target", () => {
  it("keeps for each open request whether it conflicts, newest first, and nothing of closed ones", async () => {
    const [other, clean] = await given.world.branch({ "other.txt": "other\n" });
    await given.world.open();
    await given.world.open({ title: "Other", sourceBranch: { id: other } });
    const [shut] = await given.world.branch({ "shut.txt": "shut\n" });
    await given.world.open({ title: "Shut", sourceBranch: { id: shut } });
    expect((await given.world.post(people.anna, "/merge-request/3/close", {})).status).to.equal(
      200,
    );
    const head = await pushed("main", { "a.txt": "a, otherwise\n" });
    await db("merge_check").where("project_id", given.world.project.id).delete();
    await run(head);
    const found = await rows();
    expect(found.map(({ ours }) => ours)).to.deep.equal([head, head]);
    expect(found.find(({ theirs }) => theirs === clean)?.conflicts).to.deep.equal([]);
    expect(found.find(({ theirs }) => theirs !== clean)?.conflicts).to.deep.equal(["a.txt"]);
  });

  it("answers a GET with what another process found out", async () => {
    await given.world.open();
    const [request] = await db("merge_request").where("project_id", given.world.project.id);
    const head = await pushed("main", { "b.txt": "b\n" });
    const heads = { ours: head, theirs: String(request.source_commit) };
    // No merge would show this: only the row does.
    await mergeChecks(db, given.world.project.id).keep(heads, {
      conflicts: ["from-the-row"],
      conflictsCount: 1,
    });
    const { body } = await given.world.get(people.anna, "/merge-request/1");
    expect(body)
      .to.include({ hasConflicts: true })
      .and.to.deep.include({
        conflicts: ["from-the-row"],
      });
  });

  it("has one job for the pushes to a branch with open requests, and none without", async () => {
    const moves = async () => {
      const found = [];
      for await (const event of app.deps.store.readStream(`repository-${given.world.project.id}`)) {
        if (event.type === "BranchUpdated" && event.data["branch"] === "main") found.push(event);
      }
      return found;
    };
    await pushed("main", { "c.txt": "c\n" });
    const [first] = await moves();
    expect(await mergeCheck.react(first!, deps)).to.deep.equal([]);
    await given.world.open();
    const head = await pushed("main", { "c.txt": "d\n" });
    const jobs = await Promise.all((await moves()).map((move) => mergeCheck.react(move, deps)));
    expect(jobs.map((each) => each.length)).to.deep.equal([1, 1]);
    expect(jobs[1]?.[0]?.data).to.deep.equal({
      projectId: given.world.project.id,
      branch: "main",
      head,
    });
    const [one, two] = jobs.flat().map((job) => mergeCheck.coveredBy?.(job));
    expect(one).to.equal(two);
  });

  it("keeps nothing of a merge with more conflicts than are listed, and forgets what is old", async () => {
    const kept = mergeChecks(db, given.world.project.id);
    const heads = (letter: string) => ({ ours: letter.repeat(40), theirs: "f".repeat(40) });
    const conflicts = ["a.txt", "b.txt"];
    await kept.keep(heads("a"), { conflicts, conflictsCount: 3 });
    expect(await kept.find(heads("a"))).to.equal(undefined);
    await kept.keep(heads("b"), { conflicts, conflictsCount: 2 });
    expect(await kept.find(heads("b"))).to.deep.equal({ conflicts, conflictsCount: 2 });
    await kept.keep(heads("c"), { treeId: "e".repeat(40) });
    expect(await kept.find(heads("c"))).to.deep.equal({ treeId: "e".repeat(40) });
    await dropMergeChecks(db, new Date(Date.now() - 60_000), 10_000);
    expect(await rows()).to.have.length(2);
    await dropMergeChecks(db, new Date(Date.now() + 60_000), 10_000);
    expect(await rows()).to.deep.equal([]);
  });

  it("does not look twice at a pair that is kept", async () => {
    const head = await pushed("main", { "e.txt": "e\n" });
    let finds = 0;
    const kept = {
      find: async () => {
        finds += 1;
        return { treeId: "e".repeat(40) };
      },
      keep: () => Promise.reject(new Error("nothing new was found out")),
    };
    const heads = { ours: head, theirs: head };
    const tree = { treeId: "e".repeat(40) };
    expect(await checkMerge(await repository(), heads, kept)).to.deep.equal(tree);
    expect(await checkMerge(await repository(), heads, kept)).to.deep.equal(tree);
    expect(finds).to.equal(1);
  });
});
