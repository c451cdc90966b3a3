import { expect } from "chai";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import { gitRefProjection } from "../../../src/projections/repository/git-ref.ts";
import { refView } from "../../../src/projections/repository/ref-view.ts";
import { history } from "../../support/app/history.ts";
import { context, project, reset } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const projectId = "7d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f";
const commit = (n: number) => n.toString(16).padStart(40, "0");
const page = { size: 10, offset: 0 };

const created = (branch: string, n: number): readonly [string, AnyEvent] => {
  const data = {
    branch,
    commitId: commit(n),
    changedById: null,
    changedAt: "2026-01-01T00:00:00.000Z",
  };
  return [`repository-${projectId}`, { type: "BranchCreated", data }];
};

async function queriesOf(run: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const counting = (): void => {
    count += 1;
  };
  db.on("query", counting);
  await run();
  db.off("query", counting);
  return count;
}

const everything = async () => {
  const refs = await refView(db, projectId);
  const { rows, total } = await refs.list("branch", page);
  const found = await refs.find("branch", "main");
  const branchHeads = await refs.branchesAt([commit(1)]);
  return {
    names: rows.map(({ name }) => name),
    total,
    main: found?.commit_id,
    branchHeads: branchHeads.map(({ name }) => name),
  };
};

describe("a view of a repository's refs", () => {
  const log = history(created("main", 1), created("next", 1));

  it("shows the current refs, whatever was queried before", async () => {
    await reset(db, gitRefProjection);
    expect(await everything()).to.deep.include({ names: [], main: undefined });
    await project(db, gitRefProjection, log.slice(0, 1), context);
    expect(await everything()).to.deep.include({ names: ["main"], total: 1 });
    await project(db, gitRefProjection, log.slice(1), context);
    expect(await everything()).to.deep.equal({
      names: ["main", "next"],
      total: 2,
      main: commit(1),
      branchHeads: ["main", "next"],
    });
  });

  it("costs one query while nothing changes", async () => {
    await everything();
    expect(await queriesOf(everything)).to.equal(1);
  });

  it("keeps the questions apart", async () => {
    const refs = await refView(db, projectId);
    expect((await refs.list("branch", { size: 1, offset: 1 })).rows).to.have.lengthOf(1);
    expect((await refs.list("tag", page)).rows).to.deep.equal([]);
    expect(await refs.find("tag", "main")).to.equal(undefined);
    expect(await refs.branchesAt([commit(2)])).to.deep.equal([]);
  });
});
