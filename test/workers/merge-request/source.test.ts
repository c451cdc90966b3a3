import { expect } from "chai";

import { readKeptRef } from "../../../src/platform/git/kept-ref.ts";
import { findMergeRequest } from "../../../src/projections/merge-request/merge-request-query.ts";
import { withNewestSource } from "../../../src/workers/merge-request/source.ts";
import { startTestApp } from "../../support/app.ts";
import { git } from "../../support/git.ts";
import { mergeWorlds } from "../../support/merge-world.ts";

const app = await startTestApp();
const { world: newWorld } = await mergeWorlds(app);

describe("bringing the newest version of a source", () => {
  it("never puts an older version in the place of one that another process brought", async () => {
    const world = await newWorld();
    await world.open();
    const row = (await findMergeRequest(app.deps.db, world.project.id, 1))!;
    await world.push("feature", { "b.txt": "older\n" });
    const ref = "refs/merge-requests/1/head";
    let newer: string | undefined;
    const slow = {
      ...app.deps,
      // Once the older version was chosen, another process brings a newer one.
      git: {
        ...app.deps.git,
        find: async (id: string) => {
          const repository = (await app.deps.git.find(id))!;
          finds += 1;
          if (finds === 2) {
            newer = await world.push("feature", { "b.txt": "newer\n" });
            await git(repository.gitDir, "update-ref", ref, newer);
          }
          return repository;
        },
      },
    };
    let finds = 0;
    const brought = await withNewestSource(slow, row);
    expect(newer).to.be.a("string");
    expect(brought.source_commit).to.equal(newer);
    const repository = (await app.deps.git.find(world.project.id))!;
    expect(await readKeptRef(repository, ref)).to.equal(newer);
  });
});
