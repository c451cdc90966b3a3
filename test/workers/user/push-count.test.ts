import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { repositoryEvents, repositoryStream } from "../../../src/events/repository/repository.ts";
import { runGit } from "../../../src/git/run.ts";
import { PermanentFailure } from "../../../src/platform/queue/queue.ts";
import { refRecorder } from "../../../src/services/git/ref-recorder.ts";
import {
  countPushes,
  pushCountReactor,
  pushCountWorker,
} from "../../../src/workers/user/push-count.ts";
import { at, history, metadataFor } from "../../support/app/history.ts";
import { givenPushCounts, never } from "../../support/app/push-counts.ts";
import { commit, git } from "../../support/git/git.ts";

const given = await givenPushCounts();
const { deps, pushed, recordedCounts } = given;

/** Pushes main and records it as the user's push. */
async function pushedBy(userId: string): Promise<void> {
  const pushId = randomUUID();
  const before =
    (await (await deps.git.find(given.projectId))?.refs())?.get("refs/heads/main") ?? null;
  const after = await git(given.copy, "rev-parse", "main");
  const metadata = metadataFor(pushId);
  const by = { ...metadata, actor: { ...metadata.actor, userId } };
  const refs = [{ ref: "refs/heads/main", before, after }];
  const push = { pushId, projectId: given.projectId, metadata: by, refs };
  const recorder = refRecorder(deps);
  await recorder.begin(push);
  await git(given.copy, "push", "--quiet", given.gitDir, "main");
  const position = await recorder.finish(push, new Set(["refs/heads/main"]));
  await deps.visible(position);
}

const measured = () =>
  deps.db("repository_size").where({ project_id: given.projectId }).first("bytes");

const progress = async () =>
  (await deps.db("push_count_progress").where({ project_id: given.projectId }).first("revision"))
    ?.revision;

describe("a worker that counts pushes", () => {
  it("stops on abort, and leaves everything to the next", async () => {
    await commit(given.copy, "One", { "a.ts": "1" });
    await pushed("main");
    await expect(countPushes(deps, given.projectId, 0, AbortSignal.abort())).to.be.rejectedWith(
      "abort",
    );
    expect(await recordedCounts()).to.deep.equal([]);
    await countPushes(deps, given.projectId, 0, never);
    expect(await recordedCounts()).to.have.length(1);
  });

  it("reads what brought nothing once", async () => {
    await commit(given.copy, "One", { "a.ts": "1" });
    await pushed("main");
    await pushed(...Array.from({ length: 30 }, (_, index) => `main:refs/tags/v${index}`));
    await countPushes(deps, given.projectId, 30, never);
    const reads: bigint[] = [];
    const readStream: typeof deps.store.readStream = (stream, from) => {
      if (stream === repositoryStream(given.projectId)) reads.push(from ?? 0n);
      return deps.store.readStream(stream, from);
    };
    const watched = { ...deps, store: { ...deps.store, readStream } };
    for (let revision = 0; revision <= 30; revision += 1) {
      await countPushes(watched, given.projectId, revision, never);
    }
    expect(reads).to.deep.equal([]);
    expect(await recordedCounts()).to.have.length(1);
  });

  it("counts pushes of one person that wait together as one, and those of others by themselves", async () => {
    const [anna, boris] = [randomUUID(), randomUUID()];
    for (const [index, userId] of [anna, anna, boris, anna].entries()) {
      await commit(given.copy, `Change ${index}`, { [`${index}.ts`]: "1" });
      await pushedBy(userId);
    }
    await countPushes(deps, given.projectId, 3, never);
    expect((await recordedCounts()).map(({ userId, commits }) => [userId, commits])).to.deep.equal([
      [anna, 2],
      [boris, 1],
      [anna, 1],
    ]);
  });

  it("queries nothing from git for what was counted under another name", async () => {
    await commit(given.copy, "One", { "a.ts": "1" });
    await pushed("main");
    await countPushes(deps, given.projectId, 0, never);
    await pushed("main:refs/heads/other", "main:refs/tags/v1");
    // A program that is aborted before it starts fails.
    await countPushes(deps, given.projectId, 2, AbortSignal.abort());
    expect(await recordedCounts()).to.have.length(1);
    expect(await progress()).to.equal(2n);
  });

  it("measures what the project takes after every push, before it says that it looked", async () => {
    await commit(given.copy, "One", { "a.bin": "x".repeat(2_000) });
    await pushed("main", "main:refs/heads/other");
    const dying = {
      ...deps,
      now: () => {
        throw new Error("the process died");
      },
    };
    await expect(countPushes(dying, given.projectId, 1, never)).to.be.rejectedWith("died");
    expect(await progress()).to.equal(undefined);
    await countPushes(deps, given.projectId, 1, never);
    const first = await measured();
    expect(first?.bytes).to.be.greaterThan(0);

    await deps.db("repository_size").where({ project_id: given.projectId }).delete();
    await pushed(":refs/heads/other");
    await countPushes(deps, given.projectId, 2, never);
    expect((await measured())?.bytes).to.be.greaterThan(0);
  });

  it("goes on when commits of the past are there no more", async () => {
    await commit(given.copy, "Gone", { "gone.ts": "1" });
    await pushed("main");
    await countPushes(deps, given.projectId, 0, never);
    await git(given.copy, "checkout", "--quiet", "--orphan", "fresh");
    await commit(given.copy, "Fresh", { "gone.ts": "2" });
    await pushed("fresh:main");
    await runGit(given.gitDir, ["gc", "--prune=now", "--quiet"]);
    await countPushes(deps, given.projectId, 1, never);
    expect((await recordedCounts()).map(({ commits }) => commits)).to.deep.equal([1, 1]);
  });

  it("has nothing to count without a repository", async () => {
    const unknown = randomUUID();
    await pushCountWorker.runJob({ projectId: unknown, revision: 0 }, deps, never);
    const malformed = pushCountWorker.runJob({ projectId: "../x", revision: 0 }, deps, never);
    await expect(malformed).to.be.rejectedWith(PermanentFailure);
  });
});

describe("the reactor of push statistics", () => {
  it("requests a count after whatever changes a ref, once an event", async () => {
    const id = randomUUID();
    const data = { branch: "main", commitId: "1".repeat(40), changedById: null, changedAt: at };
    const [event] = history([repositoryStream(id), { type: "BranchCreated", data }]);
    const job = { queue: "push-count", id: `${id}-0`, data: { projectId: id, revision: 0 } };
    expect(await pushCountReactor.react(event!, deps)).to.deep.equal([job]);
    expect([...pushCountReactor.types]).to.have.members(Object.keys(repositoryEvents));
  });
});
