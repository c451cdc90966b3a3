import { expect } from "chai";
import type { AnyEvent } from "../../../src/events/core/event.ts";
import { gitRefProjection } from "../../../src/projections/repository/git-ref.ts";
import { history } from "../../support/app/history.ts";
import { context, project, reset, rowsOf } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const projects = [
  "7d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f",
  "3f2e1d0c-5b4a-4938-8716-a5b4c3d2e1f0",
] as const;

/** The same numbers every time, without a pattern that a test could lean on. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const commit = (n: number) => n.toString(16).padStart(40, "0");

/** Branches and tags that come, move, go and come again. */
function pushes(count: number, random: (below: number) => number) {
  const stands = new Map<string, string>();
  const written = Array.from({ length: count }, (_, n): readonly [string, AnyEvent] => {
    const stream = `repository-${projects[random(2)]}`;
    const ref = { branch: ["main", "dev", "fix"][random(3)], tag: `v${random(2)}` };
    const isTag = random(3) === 0;
    const key = `${stream} ${isTag ? ref.tag : ref.branch}`;
    const [before, after] = [stands.get(key), commit(n + 1)];
    const gone = before !== undefined && random(3) === 0;
    if (gone) stands.delete(key);
    else stands.set(key, after);
    const changedAt = new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString();
    const by = { changedById: null, changedAt };
    const points = { objectId: after, commitId: after, lightWeight: random(2) === 0 };
    if (isTag) {
      const tag = { tag: ref.tag, ...by };
      if (gone) return [stream, { type: "TagDeleted", data: { ...tag, objectId: before } }];
      if (before === undefined)
        return [stream, { type: "TagCreated", data: { ...tag, ...points } }];
      return [stream, { type: "TagUpdated", data: { ...tag, before, ...points } }];
    }
    const branch = { branch: ref.branch, ...by };
    if (gone) return [stream, { type: "BranchDeleted", data: { ...branch, commitId: before } }];
    if (before === undefined) {
      return [stream, { type: "BranchCreated", data: { ...branch, commitId: after } }];
    }
    const moved = { before, after, forced: random(2) === 0 };
    return [stream, { type: "BranchUpdated", data: { ...branch, ...moved } }];
  });
  return history(...written);
}

describe("refs of repositories", () => {
  for (const seed of [1, 2, 3]) {
    it(`are the same whether pushes come one by one or many at once, seed ${seed}`, async () => {
      const random = randomFrom(seed);
      const log = pushes(150, random);
      await reset(db, gitRefProjection);
      for (const event of log) await project(db, gitRefProjection, [event], context);
      const oneByOne = await rowsOf(db, gitRefProjection);
      expect(oneByOne["git_ref"]).not.to.deep.equal([]);

      await reset(db, gitRefProjection);
      for (let from = 0; from < log.length; ) {
        const to = from + 1 + random(40);
        await project(db, gitRefProjection, log.slice(from, to), context);
        from = to;
      }
      expect(await rowsOf(db, gitRefProjection)).to.deep.equal(oneByOne);
    });
  }

  it("keep when they came, and lose it when they are deleted and come again", async () => {
    const log = pushes(150, randomFrom(4));
    await reset(db, gitRefProjection);
    await project(db, gitRefProjection, log, context);
    for (const row of await db("git_ref")) {
      const own = log.filter(
        ({ stream, data }) =>
          stream === `repository-${row.project_id}` && data[row.kind] === row.name,
      );
      const came = own.findLast(({ type }) => type.endsWith("Created"))!;
      expect(row.created_at.toISOString()).to.equal(came.data["changedAt"]);
    }
  });
});
