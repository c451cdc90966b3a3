import { randomUUID } from "node:crypto";
import path from "node:path";
import { expect } from "chai";
import { repositoryEvents, repositoryStream } from "../../../src/events/repository/repository.ts";
import { pushCountStream } from "../../../src/events/user/push-count.ts";
import { refRecorder } from "../../../src/git/ref-recorder.ts";
import { runGit } from "../../../src/platform/git/run.ts";
import { PermanentFailure } from "../../../src/platform/queue/queue.ts";
import {
  countPushes,
  pushCountReactor,
  pushCountWorker,
} from "../../../src/workers/user/push-count.ts";
import { at, history, metadataFor } from "../../support/app/history.ts";
import { givenProject, testWorkers } from "../../support/app/worker-deps.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

const { deps } = await testWorkers();
const parent = await temporaryDirectory();
const never = new AbortController().signal;
let projectId: string;
let gitDir: string;
let copy: string;
let count = 0;

beforeEach(async () => {
  count += 1;
  ({ projectId } = await givenProject(deps, `project-${count}`));
  ({ gitDir } = await deps.git.ensure(projectId, "main"));
  copy = await workingCopy(parent, `copy-${count}`);
});

/** Pushes into the repository and records it, as the push of nobody that is known. */
async function pushed(...refspecs: string[]): Promise<void> {
  await git(copy, "push", "--quiet", "--force", gitDir, ...refspecs);
  await refRecorder(deps).reconcile(projectId);
}

/** Pushes main and records it as the user's push. */
async function pushedBy(userId: string): Promise<void> {
  const pushId = randomUUID();
  const before = (await (await deps.git.find(projectId))?.refs())?.get("refs/heads/main") ?? null;
  const after = await git(copy, "rev-parse", "main");
  const metadata = metadataFor(pushId);
  const by = { ...metadata, actor: { ...metadata.actor, userId } };
  const refs = [{ ref: "refs/heads/main", before, after }];
  const push = { pushId, projectId, metadata: by, refs };
  const recorder = refRecorder(deps);
  await recorder.begin(push);
  await git(copy, "push", "--quiet", gitDir, "main");
  const position = await recorder.finish(push, new Set(["refs/heads/main"]));
  await deps.visible(position);
}

const measured = () => deps.db("repository_size").where({ project_id: projectId }).first("bytes");
const progress = async () =>
  (await deps.db("push_count_progress").where({ project_id: projectId }).first("revision"))
    ?.revision;

async function recordedCounts(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const counts = [];
  for await (const { data } of deps.store.readStream(pushCountStream(projectId))) counts.push(data);
  return counts;
}

describe("a worker that counts pushes", () => {
  it("counts once although it dies before or after it has written", async () => {
    await commit(copy, "One", { "a.ts": "1" });
    await pushed("main");
    for (const written of [false, true]) {
      const append: typeof deps.store.append = async (...args) => {
        if (written) await deps.store.append(...args);
        throw new Error("the process died");
      };
      const dying = { ...deps, store: { ...deps.store, append } };
      await expect(countPushes(dying, projectId, 0, never)).to.be.rejectedWith("died");
    }
    for (let run = 0; run < 2; run += 1) await countPushes(deps, projectId, 0, never);

    expect(await recordedCounts()).to.have.length(1);
    expect((await recordedCounts())[0]).to.deep.include({
      commits: 1,
      extensions: { ts: 1 },
      userId: null,
    });
  });

  it("counts once although several do it at the same moment", async () => {
    await commit(copy, "One", { "a.ts": "1" });
    await pushed("main");
    await Promise.all(Array.from({ length: 4 }, () => countPushes(deps, projectId, 0, never)));
    expect(await recordedCounts()).to.have.length(1);
  });

  it("stops on abort, and leaves everything to the next", async () => {
    await commit(copy, "One", { "a.ts": "1" });
    await pushed("main");
    await expect(countPushes(deps, projectId, 0, AbortSignal.abort())).to.be.rejectedWith("abort");
    expect(await recordedCounts()).to.deep.equal([]);
    await countPushes(deps, projectId, 0, never);
    expect(await recordedCounts()).to.have.length(1);
  });

  it("reads what brought nothing once", async () => {
    await commit(copy, "One", { "a.ts": "1" });
    await pushed("main");
    await pushed(...Array.from({ length: 30 }, (_, index) => `main:refs/tags/v${index}`));
    await countPushes(deps, projectId, 30, never);
    const reads: bigint[] = [];
    const readStream: typeof deps.store.readStream = (stream, from) => {
      if (stream === repositoryStream(projectId)) reads.push(from ?? 0n);
      return deps.store.readStream(stream, from);
    };
    const watched = { ...deps, store: { ...deps.store, readStream } };
    for (let revision = 0; revision <= 30; revision += 1) {
      await countPushes(watched, projectId, revision, never);
    }
    expect(reads).to.deep.equal([]);
    expect(await recordedCounts()).to.have.length(1);
  });

  it("counts pushes of one person that wait together as one, and those of others by themselves", async () => {
    const [anna, boris] = [randomUUID(), randomUUID()];
    for (const [index, userId] of [anna, anna, boris, anna].entries()) {
      await commit(copy, `Change ${index}`, { [`${index}.ts`]: "1" });
      await pushedBy(userId);
    }
    await countPushes(deps, projectId, 3, never);
    expect((await recordedCounts()).map(({ userId, commits }) => [userId, commits])).to.deep.equal([
      [anna, 2],
      [boris, 1],
      [anna, 1],
    ]);
  });

  it("queries nothing from git for what was counted under another name", async () => {
    await commit(copy, "One", { "a.ts": "1" });
    await pushed("main");
    await countPushes(deps, projectId, 0, never);
    await pushed("main:refs/heads/other", "main:refs/tags/v1");
    // A program that is aborted before it starts fails.
    await countPushes(deps, projectId, 2, AbortSignal.abort());
    expect(await recordedCounts()).to.have.length(1);
    expect(await progress()).to.equal(2n);
  });

  it("measures what the project takes after every push, before it says that it looked", async () => {
    await commit(copy, "One", { "a.bin": "x".repeat(2_000) });
    await pushed("main", "main:refs/heads/other");
    const dying = {
      ...deps,
      now: () => {
        throw new Error("the process died");
      },
    };
    await expect(countPushes(dying, projectId, 1, never)).to.be.rejectedWith("died");
    expect(await progress()).to.equal(undefined);
    await countPushes(deps, projectId, 1, never);
    const first = await measured();
    expect(first?.bytes).to.be.greaterThan(0);

    await deps.db("repository_size").where({ project_id: projectId }).delete();
    await pushed(":refs/heads/other");
    await countPushes(deps, projectId, 2, never);
    expect((await measured())?.bytes).to.be.greaterThan(0);
  });

  it("goes on when commits of the past are there no more", async () => {
    await commit(copy, "Gone", { "gone.ts": "1" });
    await pushed("main");
    await countPushes(deps, projectId, 0, never);
    await git(copy, "checkout", "--quiet", "--orphan", "fresh");
    await commit(copy, "Fresh", { "gone.ts": "2" });
    await pushed("fresh:main");
    await runGit(gitDir, ["gc", "--prune=now", "--quiet"]);
    await countPushes(deps, projectId, 1, never);
    expect((await recordedCounts()).map(({ commits }) => commits)).to.deep.equal([1, 1]);
  });

  it("has nothing to count without a repository", async () => {
    const unknown = randomUUID();
    await pushCountWorker.runJob({ projectId: unknown, revision: 0 }, deps, never);
    const malformed = pushCountWorker.runJob({ projectId: "../x", revision: 0 }, deps, never);
    await expect(malformed).to.be.rejectedWith(PermanentFailure);
  });

  it("reads a history of many commits as it comes", async () => {
    const commits = 3_000;
    const lines = ["reset refs/heads/main"];
    for (let n = 1; n <= commits; n += 1) {
      lines.push("commit refs/heads/main", "committer C <c@example.test> 1700000000 +0000");
      lines.push("data 1", "x", `M 644 inline f${n % 50}.${n % 2 === 0 ? "ts" : "md"}`);
      lines.push("data 8", `${n}`.padStart(8, "0"));
    }
    const { exec } = await import("node:child_process");
    await new Promise<void>((resolve, reject) => {
      const child = exec("git fast-import --quiet", { cwd: copy }, (error) =>
        error === null ? resolve() : reject(error),
      );
      child.stdin?.end(`${lines.join("\n")}\n`);
    });
    await git(path.join(copy), "push", "--quiet", gitDir, "main");
    await refRecorder(deps).reconcile(projectId);
    await countPushes(deps, projectId, 0, never);
    expect((await recordedCounts())[0]).to.deep.include({
      commits,
      extensions: { ts: commits / 2, md: commits / 2 },
    });
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
