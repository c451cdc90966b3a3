import { expect } from "chai";
import { readServiceRef } from "../../../src/git/service-ref.ts";
import { findMergeRequest } from "../../../src/projections/merge-request/merge-request-query.ts";
import { withNewestSource } from "../../../src/services/merge-request/source.ts";
import { mergeRequestHeadWorker } from "../../../src/workers/merge-request/number.ts";
import { git } from "../../support/git/git.ts";
import { givenSources } from "../../support/merge-request/sources.ts";

const { app, newWorld } = await givenSources();

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
    expect(await readServiceRef(repository, ref)).to.equal(newer);
  });

  it("never has its ref moved back by the step that makes it", async () => {
    const world = await newWorld();
    await world.open();
    const ref = "refs/merge-requests/1/head";
    const row = (await findMergeRequest(app.deps.db, world.project.id, 1))!;
    const repository = (await app.deps.git.find(world.project.id))!;
    // Another process has brought a version that the read model does not show yet.
    const newer = await git(world.copy, "rev-parse", "main");
    await git(repository.gitDir, "update-ref", ref, newer);
    const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };
    const made = () =>
      mergeRequestHeadWorker.runJob({ mergeRequestId: row.id }, deps, new AbortController().signal);
    await made();
    expect(await readServiceRef(repository, ref)).to.equal(newer);
    await git(repository.gitDir, "update-ref", "-d", ref);
    await made();
    expect(await readServiceRef(repository, ref)).to.equal(row.source_commit);
  });
});
