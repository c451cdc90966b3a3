import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { checkMerge } from "../../../src/platform/git/merge-commits.ts";
import {
  dropMergeChecks,
  mergeChecks,
} from "../../../src/projections/merge-request/merge-check.ts";
import { findRef } from "../../../src/projections/repository/git-ref.ts";
import { mergeCheck, mergeCheckWorker } from "../../../src/workers/merge-request/merge-check.ts";
import { codeOf } from "../../support/app/answer.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { git } from "../../support/git/git.ts";
import { type MergeWorld, mergeWorlds } from "../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { db } = app.deps;
const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };

let world: MergeWorld;
beforeEach(async () => {
  world = await newWorld();
});

type Row = Readonly<{ ours: string; theirs: string; conflicts: string[]; tree_id: string | null }>;
const rows = () => db<Row>("merge_check").where("project_id", world.project.id).orderBy("theirs");
const repository = async () => (await app.deps.git.find(world.project.id))!;
const run = (head: string, signal = new AbortController().signal) =>
  mergeCheckWorker.runJob({ projectId: world.project.id, branch: "main", head }, deps, signal);

/** Pushes to a branch; the new head, once it is shown. */
async function pushed(branch: string, files: Readonly<Record<string, string>>): Promise<string> {
  const head = await world.push(branch, files);
  const ref = () => findRef(db, world.project.id, "branch", branch);
  await eventually(async () => (await ref())?.object_id === head);
  return head;
}

describe("checking merges after a push to the target", () => {
  it("keeps for each open request whether it conflicts, newest first, and nothing of closed ones", async () => {
    const [other, clean] = await world.branch({ "other.txt": "other\n" });
    await world.open();
    await world.open({ title: "Other", sourceBranch: { id: other } });
    const [shut] = await world.branch({ "shut.txt": "shut\n" });
    await world.open({ title: "Shut", sourceBranch: { id: shut } });
    expect((await world.post(people.anna, "/merge-request/3/close", {})).status).to.equal(200);
    const head = await pushed("main", { "a.txt": "a, otherwise\n" });
    await db("merge_check").where("project_id", world.project.id).delete();
    await run(head);
    const found = await rows();
    expect(found.map(({ ours }) => ours)).to.deep.equal([head, head]);
    expect(found.find(({ theirs }) => theirs === clean)?.conflicts).to.deep.equal([]);
    expect(found.find(({ theirs }) => theirs !== clean)?.conflicts).to.deep.equal(["a.txt"]);
  });

  it("checks the fifty newest of many requests, and no other", async () => {
    await world.open();
    const [request] = await db("merge_request").where("project_id", world.project.id);
    await git(world.copy, "checkout", "--quiet", "feature");
    const tree = await git(world.copy, "rev-parse", "HEAD^{tree}");
    const sources: string[] = [String(request.source_commit)];
    for (let number = 2; number <= 53; number += 1) {
      const parent = sources.at(-1) ?? "";
      sources.push(await git(world.copy, "commit-tree", tree, "-p", parent, "-m", `${number}`));
    }
    await git(world.copy, "push", "--quiet", "origin", `${sources.at(-1)}:refs/heads/many`);
    // Rows as the read model would have them; opening each takes a push and a command.
    const more = sources.slice(1).map((source_commit, index) => ({
      ...request,
      id: randomUUID(),
      local_id: index + 2,
      source_commit,
      created_at: new Date(request.created_at.getTime() + index + 1),
    }));
    await db("merge_request").insert(more);
    await run(await pushed("main", { "g.txt": "g\n" }));
    const found = await rows();
    expect(found.map(({ theirs }) => theirs)).to.have.members(sources.slice(-50));
  });

  it("answers a GET with what another process found out", async () => {
    await world.open();
    const [request] = await db("merge_request").where("project_id", world.project.id);
    const head = await pushed("main", { "b.txt": "b\n" });
    const heads = { ours: head, theirs: String(request.source_commit) };
    // No merge would show this: only the row does.
    await mergeChecks(db, world.project.id).keep(heads, {
      conflicts: ["from-the-row"],
      conflictsCount: 1,
    });
    const { body } = await world.get(people.anna, "/merge-request/1");
    expect(body)
      .to.include({ hasConflicts: true })
      .and.to.deep.include({
        conflicts: ["from-the-row"],
      });
  });

  it("does nothing when the branch has moved on, or when it is stopped", async () => {
    await world.open();
    const before = await pushed("main", { "c.txt": "c\n" });
    const head = await pushed("main", { "c.txt": "d\n" });
    await run(before);
    await run(head, AbortSignal.abort());
    expect(await rows()).to.deep.equal([]);
    await run(head);
    expect(await rows()).to.have.length(1);
  });

  it("has one job for the pushes to a branch with open requests, and none without", async () => {
    const moves = async () => {
      const found = [];
      for await (const event of app.deps.store.readStream(`repository-${world.project.id}`)) {
        if (event.type === "BranchUpdated" && event.data["branch"] === "main") found.push(event);
      }
      return found;
    };
    await pushed("main", { "c.txt": "c\n" });
    const [first] = await moves();
    expect(await mergeCheck.react(first!, deps)).to.deep.equal([]);
    await world.open();
    const head = await pushed("main", { "c.txt": "d\n" });
    const jobs = await Promise.all((await moves()).map((move) => mergeCheck.react(move, deps)));
    expect(jobs.map((each) => each.length)).to.deep.equal([1, 1]);
    expect(jobs[1]?.[0]?.data).to.deep.equal({
      projectId: world.project.id,
      branch: "main",
      head,
    });
    const [one, two] = jobs.flat().map((job) => mergeCheck.coveredBy?.(job));
    expect(one).to.equal(two);
  });

  it("shows and keeps the first of very many conflicts, fewer in lists, and how many there are", async () => {
    const files = (text: string) =>
      Object.fromEntries(Array.from({ length: 1_005 }, (_, at) => [`many/${10_000 + at}`, text]));
    await world.push("feature", files("theirs\n"));
    await pushed("main", files("ours\n"));
    await world.open();
    const paths = Object.keys(files("")).slice(0, 1_000);
    const { body } = await world.get(people.bob, "/merge-request/1");
    expect(body).to.include({ hasConflicts: true, conflictsCount: 1_005, canMerge: false });
    expect(body["conflicts"]).to.deep.equal(paths);
    const list = (await world.get(people.bob, "/merge-request/list")).body["_embedded"];
    expect((list as { mergeRequestModelList: unknown[] }).mergeRequestModelList).to.deep.equal([
      { ...body, conflicts: paths.slice(0, 100) },
    ]);
    const refused = await world.post(people.bob, "/merge-request/1/merge");
    expect(codeOf(refused), refused.text).to.deep.equal([409, "merge.conflict"]);
    expect(refused.body).to.deep.include({ files: paths, filesCount: 1_005 });
    // A row would have all of them.
    expect(await rows()).to.deep.equal([]);
  });

  it("keeps nothing of a merge with more conflicts than are listed, and forgets what is old", async () => {
    const kept = mergeChecks(db, world.project.id);
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
