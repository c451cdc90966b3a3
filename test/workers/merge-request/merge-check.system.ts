import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { codeOf } from "../../support/app/answer.ts";
import { git } from "../../support/git/git.ts";
import { givenMergeChecks } from "../../support/merge-request/merge-checks.ts";

const given = await givenMergeChecks();
const { people, db, rows, run, pushed } = given;

describe("checking merges after a push to the target", () => {
  it("checks the fifty newest of many requests, and no other", async () => {
    await given.world.open();
    const [request] = await db("merge_request").where("project_id", given.world.project.id);
    await git(given.world.copy, "checkout", "--quiet", "feature");
    const tree = await git(given.world.copy, "rev-parse", "HEAD^{tree}");
    const sources: string[] = [String(request.source_commit)];
    for (let number = 2; number <= 53; number += 1) {
      const parent = sources.at(-1) ?? "";
      sources.push(
        await git(given.world.copy, "commit-tree", tree, "-p", parent, "-m", `${number}`),
      );
    }
    await git(given.world.copy, "push", "--quiet", "origin", `${sources.at(-1)}:refs/heads/many`);
    // Rows as the read model would have them; opening each takes a push and a command.
    const more = sources.slice(1).map((source_commit, index) => ({
      ...request,
      id: randomUUID(),
      local_id: index + 2,
      source_commit,
      created_at: new Date(request.created_at.getTime() + index + 1),
    }));
    await db("merge_request").insert(more);
    const head = await pushed("main", { "g.txt": "g\n" });
    await run(head);
    // The first was checked against the head before when it was opened.
    const found = (await rows()).filter(({ ours }) => ours === head);
    expect(found.map(({ theirs }) => theirs)).to.have.members(sources.slice(-50));
  });

  it("does nothing when the branch has moved on, or when it is stopped", async () => {
    await given.world.open();
    const before = await pushed("main", { "c.txt": "c\n" });
    const head = await pushed("main", { "c.txt": "d\n" });
    await run(before);
    await run(head, AbortSignal.abort());
    expect(await rows()).to.deep.equal([]);
    await run(head);
    expect(await rows()).to.have.length(1);
  });

  it("shows and keeps the first of very many conflicts, fewer in lists, and how many there are", async () => {
    const files = (text: string) =>
      Object.fromEntries(Array.from({ length: 1_005 }, (_, at) => [`many/${10_000 + at}`, text]));
    await given.world.push("feature", files("theirs\n"));
    await pushed("main", files("ours\n"));
    await given.world.open();
    const paths = Object.keys(files("")).slice(0, 1_000);
    const { body } = await given.world.get(people.bob, "/merge-request/1");
    expect(body).to.include({ hasConflicts: true, conflictsCount: 1_005, canMerge: false });
    expect(body["conflicts"]).to.deep.equal(paths);
    const list = (await given.world.get(people.bob, "/merge-request/list")).body["_embedded"];
    expect((list as { mergeRequestModelList: unknown[] }).mergeRequestModelList).to.deep.equal([
      { ...body, conflicts: paths.slice(0, 100) },
    ]);
    const refused = await given.world.post(people.bob, "/merge-request/1/merge");
    expect(codeOf(refused), refused.text).to.deep.equal([409, "merge.conflict"]);
    expect(refused.body).to.deep.include({ files: paths, filesCount: 1_005 });
    // A row would have all of them.
    expect(await rows()).to.deep.equal([]);
  });
});
