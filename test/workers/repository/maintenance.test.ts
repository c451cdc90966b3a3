import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { PermanentFailure } from "../../../src/platform/queue/queue.ts";
import {
  repositoryMaintenance,
  repositoryMaintenanceWorker,
} from "../../../src/workers/repository/maintenance.ts";
import { at, history } from "../../support/app/history.ts";
import { commit, git, workingCopy } from "../../support/git/git.ts";
import { givenRepositories, never, projectId } from "../../support/git/maintained.ts";

const { dataDir, repositories, db, deps } = await givenRepositories();

describe("maintenance of a repository", () => {
  it("is due after the first change, and again after many", async () => {
    const branch = { branch: "main", commitId: "1".repeat(40), changedById: null, changedAt: at };
    const event = { type: "BranchCreated", data: branch };
    const due: string[] = [];
    for (const recorded of history(
      ...Array.from({ length: 70 }, () => [repositoryStream(projectId), event] as const),
    )) {
      const jobs = await repositoryMaintenance.react(recorded, deps);
      due.push(...jobs.map(({ id }) => id));
    }
    expect(due).to.deep.equal([`${projectId}-0`, `${projectId}-32`, `${projectId}-64`]);
  });

  it("packs what pushes left, and loses nothing, however often it runs", async () => {
    const { gitDir, objects } = await repositories.ensure(projectId, "main");
    const copy = await workingCopy(dataDir, "copy");
    for (let index = 0; index < 5; index += 1) {
      await commit(copy, `Commit ${index}`, { "a.txt": `${index}\n` });
      await git(copy, "push", "--quiet", gitDir, "main");
    }
    const head = await git(copy, "rev-parse", "HEAD");
    for (let run = 0; run < 2; run += 1) {
      await repositoryMaintenanceWorker.runJob({ projectId }, deps, never);
      expect((await objects.commit(head))?.message).to.equal("Commit 4\n");
      await git(gitDir, "fsck", "--full", "--strict");
    }

    const directories = await readdir(path.join(gitDir, "objects"));
    expect(directories.filter((name) => name.length === 2)).to.deep.equal([]);
    expect(await git(gitDir, "rev-list", "--count", "main")).to.equal("5");
  });

  it("leaves one geometric set of packs under one index, with bitmaps and a commit graph", async () => {
    const { gitDir } = await repositories.ensure(projectId, "main");
    const packs = await readdir(path.join(gitDir, "objects", "pack"));
    expect(packs.some((name) => name === "multi-pack-index")).to.equal(true);
    expect(packs.some((name) => /^multi-pack-index-\w+\.bitmap$/.test(name))).to.equal(true);
    const info = await readdir(path.join(gitDir, "objects", "info"));
    expect(info.some((name) => name.startsWith("commit-graph"))).to.equal(true);
    await git(gitDir, "multi-pack-index", "verify");
    await git(gitDir, "commit-graph", "verify");
    expect(await git(gitDir, "rev-list", "--test-bitmap", "main")).to.be.a("string");
  });

  it("is not done again for changes that one before has packed", async () => {
    const id = randomUUID();
    const { gitDir } = await repositories.ensure(id, "main");
    const copy = await workingCopy(dataDir, "again");
    const job = (revision: number) =>
      repositoryMaintenanceWorker.runJob({ projectId: id, revision }, deps, never);
    const push = async (): Promise<void> => {
      await commit(copy, "One more");
      await git(copy, "push", "--quiet", gitDir, "main");
    };
    const loose = async (): Promise<boolean> =>
      (await readdir(path.join(gitDir, "objects"))).some((name) => name.length === 2);
    await push();
    await db("git_repository").insert({ project_id: id, revision: 40, changed_at: at });
    await job(0);
    expect(await loose()).to.equal(false);

    await push();
    for (const revision of [0, 32, 40]) await job(revision);
    expect(await loose()).to.equal(true);
    await job(41);
    expect(await loose()).to.equal(false);
  });

  it("of a repository that is gone is done", async () => {
    await repositoryMaintenanceWorker.runJob({ projectId: randomUUID() }, deps, never);
  });

  it("of something that is no project can never succeed", async () => {
    await expect(
      repositoryMaintenanceWorker.runJob({ projectId: "../x" }, deps, never),
    ).to.be.rejectedWith(PermanentFailure);
  });
});
