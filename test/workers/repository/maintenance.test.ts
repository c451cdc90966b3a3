import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { held } from "../../../src/platform/git/push/hold.ts";
import { openGit } from "../../../src/platform/git/repositories.ts";
import { PermanentFailure } from "../../../src/platform/queue/queue.ts";
import type { WorkerDeps } from "../../../src/workers/core/deps.ts";
import {
  repositoryMaintenance,
  repositoryMaintenanceWorker,
} from "../../../src/workers/repository/maintenance.ts";
import { at, history } from "../../support/app/history.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";
import { needsProgram } from "../../support/process/program.ts";
import { testDatabase } from "../../support/store/database.ts";

const dataDir = await temporaryDirectory();
const repositories = openGit({ dataDir, log: { warn: () => undefined } });
after(() => repositories.close());
// What a project takes is written down afterwards, its LFS objects, packages and images included.
const { db } = await testDatabase("app");
// Neither the reactor nor the worker uses more of what workers have.
const deps = { git: repositories, db, now: () => new Date(at) } as unknown as WorkerDeps;
const never = new AbortController().signal;
const projectId = randomUUID();

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

  describe("beside pushes", () => {
    needsProgram("flock");

    it("loses nothing of pushes and breaks no fetch meanwhile, and is at a repository one at a time", async () => {
      const id = randomUUID();
      const { gitDir } = await repositories.ensure(id, "main");
      // As the service does: without this lock, upkeep takes a push for one that was killed, and loose objects
      // would go into directories that upkeep removes when it finds them empty.
      const [program, args] = held(gitDir, "pushing", [
        "-c",
        "transfer.unpackLimit=1",
        "receive-pack",
      ]);
      const receivePack = `--receive-pack=${[program, ...args].join(" ")}`;
      const pushersMax = 4;
      const copies = await Promise.all(
        Array.from({ length: pushersMax }, (_, n) => workingCopy(dataDir, `pusher-${n}`)),
      );
      const send = (copy: string, refs: string) =>
        git(copy, "push", "--quiet", receivePack, gitDir, refs);
      const push = async (copy: string, n: number): Promise<string> => {
        let head = "";
        for (let index = 0; index < 6; index += 1) {
          head = await commit(copy, `${n}.${index}`, { "a.txt": `${n} ${index}\n` });
          await send(copy, `main:refs/heads/branch-${n}`);
          await send(copy, `main:refs/tags/tag-${n}-${index}`);
        }
        return head;
      };
      let pushing = true;
      const maintaining = Array.from({ length: 2 }, async () => {
        while (pushing) await repositoryMaintenanceWorker.runJob({ projectId: id }, deps, never);
      });
      let fetched = 0;
      const fetching = (async () => {
        const reader = await workingCopy(dataDir, "reader");
        const all = ["--prune", gitDir, "+refs/*:refs/remotes/all/*"];
        for (; pushing; fetched += 1) await git(reader, "fetch", "--quiet", ...all);
        await git(reader, "fsck", "--full", "--strict");
      })();
      const heads = await Promise.all(copies.map(push)).finally(() => {
        pushing = false;
      });
      await Promise.all([...maintaining, fetching]);
      expect(fetched).to.be.greaterThan(1);
      await git(gitDir, "fsck", "--full", "--strict");
      for (const [n, head] of heads.entries()) {
        expect(await git(gitDir, "rev-parse", `refs/heads/branch-${n}`)).to.equal(head);
      }
      const tags = await git(gitDir, "for-each-ref", "--format=%(refname)", "refs/tags");
      expect(tags.split("\n")).to.have.length(pushersMax * 6);
    });
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
