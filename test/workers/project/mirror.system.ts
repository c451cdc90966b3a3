import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { expect } from "chai";

import { handle } from "../../../src/commands/core/handle.ts";
import { mirror } from "../../../src/commands/project/mirror.ts";
import { decode } from "../../../src/events/core/decode.ts";
import type { MirrorTarget } from "../../../src/events/project/mirror.ts";
import {
  refAfter,
  repositoryEvents,
  repositoryStream,
} from "../../../src/events/repository/repository.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { findMirrorSync } from "../../../src/projections/project/mirror-sync.ts";
import { refRecorder } from "../../../src/services/git/ref-recorder.ts";
import { mirrorSyncWorker } from "../../../src/workers/project/mirror-sync.ts";
import {
  dueMirrors,
  keepTurn,
  scheduleSync,
  takeTurn,
} from "../../../src/workers/project/mirror-turn.ts";
import { eventually } from "../../support/app/eventually.ts";
import { at, metadataFor } from "../../support/app/history.ts";
import { givenProject, testWorkers } from "../../support/app/worker-deps.ts";
import { bundledArgs } from "../../support/compiled.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";
import { startGitServer } from "../../support/git/git-server.ts";

const { deps, databaseUrl, eventStoreUrl, dataDir, clock } = await testWorkers();
const other = await startGitServer();
const parent = await temporaryDirectory();
const minutes = (count: number) => new Date(clock.now.getTime() + count * 60_000);
const settings = {
  projectUpdateLag: 5,
  pullMirrorUpdateIntervalMinutes: 10,
  pushMirrorUpdateIntervalMinutes: 20,
};
let copy: string;

before(async () => {
  copy = await workingCopy(parent, "copy");
  await commit(copy, "One", { "a.txt": "a\n" });
});
beforeEach(() => other.reset());

async function givenMirror(name: string, type: MirrorTarget["type"] = "PULL") {
  await other.create(name);
  await git(copy, "push", "--quiet", other.url(name), "main", "main:dev");
  const { projectId, userId: by } = await givenProject(deps, name);
  const mirrorId = deterministicId("mirror", name);
  const target = { type, url: other.url(name), credentials: null };
  const command = { type: "ConfigureMirror", projectId, mirrorId, target, by, at } as const;
  const metadata = metadataFor(deterministicId("configure", name));
  const { position } = await handle(deps.store, mirror, { id: projectId, command, metadata });
  await deps.visible(position);
  await scheduleSync(deps.db, { projectId, mirrorId }, type, clock.now);
  return { projectId, mirrorId };
}

const run = (projectId: string, own = deps) =>
  mirrorSyncWorker.runJob({ projectId }, own, new AbortController().signal);
const requestCount = () => other.received.length;
/** Refs as the events of a repository leave them, and how often each was recorded. */
async function recordedRefs(projectId: string) {
  const refs: string[] = [];
  for await (const event of deps.store.readStream(repositoryStream(projectId))) {
    refs.push(refAfter(decode(repositoryEvents, event)).ref);
  }
  return refs;
}
const dueIds = async (now: Date) =>
  (await dueMirrors(deps.db, settings, now)).map(({ project_id }) => project_id);

describe("a PULL mirror whose source answers that there is nothing", () => {
  for (const [when, name, answered] of [
    ["at once", "emptied", 0],
    ["after it listed other branches", "emptied-later", 1],
  ] as const) {
    it(`${when} keeps its branches, and says why`, async () => {
      const { projectId, mirrorId } = await givenMirror(name);
      await run(projectId);
      const before = await recordedRefs(projectId);
      expect(before).to.have.members(["refs/heads/main", "refs/heads/dev"]);
      await git(copy, "push", "--quiet", other.url(name), "main:next");
      let listings = 0;
      other.first(({ url }, response) => {
        if (url?.includes("/info/refs")) listings += 1;
        if (listings <= answered) return false;
        response.writeHead(200).end();
        return true;
      });
      clock.now = minutes(60);
      await run(projectId);
      const row = await findMirrorSync(deps.db, projectId, mirrorId);
      expect(row).to.include({ failures: 1, error_code: "mirror.source_empty" });
      expect(await recordedRefs(projectId)).to.deep.equal(before);
    });
  }
});

describe("when a mirror is synced", () => {
  it("is at its interval, after a pause that grows while it fails, and never within the lag", async () => {
    const { projectId, mirrorId } = await givenMirror("timed");
    await run(projectId);
    const first = requestCount();
    expect(first).to.be.greaterThan(0);
    await run(projectId);
    expect(requestCount(), "not due").to.equal(first);

    expect(await dueIds(minutes(9))).not.to.include(projectId);
    expect(await dueIds(minutes(10))).to.include(projectId);
    clock.now = minutes(60);
    other.first((_request, response) => {
      response.writeHead(500).end();
      return true;
    });
    await run(projectId);
    for (const [failures, pause] of [
      [1, 1],
      [2, 2],
      [3, 4],
    ] as const) {
      const row = await findMirrorSync(deps.db, projectId, mirrorId);
      expect(row).to.include({ failures, error_code: "remote.failed" });
      expect(row?.due_at).to.deep.equal(minutes(pause));
      expect(await dueIds(minutes(pause - 0.5))).not.to.include(projectId);
      clock.now = minutes(pause);
      expect(await dueIds(clock.now)).to.include(projectId);
      await run(projectId);
    }
    other.reset();
    await scheduleSync(deps.db, { projectId, mirrorId }, "PULL", clock.now);
    await run(projectId);
    expect(requestCount(), "within the lag").to.equal(0);
    clock.now = minutes(1);
    await run(projectId);
    const row = await findMirrorSync(deps.db, projectId, mirrorId);
    expect(row).to.include({ failures: 0, error: null });
  });

  it("has intervals of its own for each direction", async () => {
    const { projectId } = await givenMirror("paced", "PUSH");
    await deps.db("mirror_sync").where({ project_id: projectId }).update({
      started_at: clock.now,
      due_at: null,
    });
    expect(await dueIds(minutes(19))).not.to.include(projectId);
    expect(await dueIds(minutes(20))).to.include(projectId);
  });
});

describe("the turn at a mirror", () => {
  it("is one worker's at a time, until it says nothing more or the mirror is another", async () => {
    const key = await givenMirror("turned");
    other.reset();
    const [one, two] = [deterministicId("one"), deterministicId("two")];
    expect(await takeTurn(deps.db, key, one, clock.now)).to.equal(true);
    expect(await takeTurn(deps.db, key, two, clock.now)).to.equal(false);
    await run(key.projectId);
    expect(requestCount(), "somebody else is at it").to.equal(0);
    expect(await keepTurn(deps.db, key, one)).to.equal(true);
    expect(await keepTurn(deps.db, key, two)).to.equal(false);

    const before = { runner_until: deps.db.raw("now() - interval '1 second'") };
    await deps.db("mirror_sync").where({ project_id: key.projectId }).update(before);
    expect(await dueIds(clock.now)).to.include(key.projectId);
    expect(await takeTurn(deps.db, key, two, clock.now)).to.equal(true);
    const changed = { ...key, mirrorId: deterministicId("another") };
    await scheduleSync(deps.db, changed, "PULL", clock.now);
    expect(await keepTurn(deps.db, key, two)).to.equal(false);
  });
});

describe("a mirror of more than its project may take", () => {
  it("is refused while it comes, and nothing of it stays", async () => {
    const { projectId, mirrorId } = await givenMirror("heavy");
    const heavy = await workingCopy(parent, "heavy");
    await commit(heavy, "Heavy", { "heavy.bin": randomBytes(2 * 1024 ** 2) });
    await git(heavy, "push", "--quiet", "--force", other.url("heavy"), "main");
    const small = { ...deps, config: { ...deps.config, projectBytesMax: 512 * 1024 } };
    await run(projectId, small);

    const row = await findMirrorSync(deps.db, projectId, mirrorId);
    expect([row?.failures, row?.error_code]).to.deep.equal([1, "remote.too_large"]);
    expect(await recordedRefs(projectId)).to.deep.equal([]);
    const repository = await deps.git.find(projectId);
    expect((await repository?.refs())?.size).to.equal(0);
    expect(await repository?.bytes()).to.be.lessThan(1024 ** 2);
  });
});

describe("a worker that is killed while it syncs", () => {
  async function child(when: string, projectId: string) {
    const stores = [databaseUrl, eventStoreUrl, dataDir, projectId];
    const args = [...bundledArgs("test/support/git/dying-mirror.ts"), when, ...stores];
    const process = spawn(globalThis.process.execPath, args, { stdio: "inherit" });
    return { process, ended: once(process, "exit") };
  }
  const healed = async (projectId: string) => {
    await refRecorder(deps).heal(new Date(Date.now() + 1_000));
    const over = { runner_until: deps.db.raw("now() - interval '1 second'"), started_at: null };
    await deps.db("mirror_sync").where({ project_id: projectId }).update(over);
    await run(projectId);
    const repository = await deps.git.find(projectId);
    await repository?.check();
    const refs = [...((await repository?.refs()) ?? [])].map(([ref, id]) => `${id}\t${ref}`);
    return refs.sort().join("\n");
  };
  const expected = async (name: string) =>
    (await git(copy, "ls-remote", "--heads", "--tags", other.url(name)))
      .split("\n")
      .sort()
      .join("\n");

  for (const when of ["before", "after"]) {
    it(`${when} the fetched refs were recorded leaves each ref recorded once`, async () => {
      const name = `killed-${when}`;
      const { projectId } = await givenMirror(name);
      const [, signal] = (await (await child(when, projectId)).ended) as [number, string];
      expect(signal).to.equal("SIGKILL");
      expect(await healed(projectId)).to.equal(await expected(name));
      expect((await recordedRefs(projectId)).sort()).to.deep.equal([
        "refs/heads/dev",
        "refs/heads/main",
      ]);
    });
  }

  it("while git fetches leaves a repository that is whole", async () => {
    const { projectId } = await givenMirror("killed-fetching");
    let fetching = false;
    other.first((request) => {
      fetching ||= request.method === "POST" && requestCount() > 2;
      return fetching;
    });
    const { process, ended } = await child("never", projectId);
    await eventually(() => fetching, 120_000);
    process.kill("SIGKILL");
    await ended;
    expect(await recordedRefs(projectId)).to.deep.equal([]);
    other.reset();
    expect(await healed(projectId)).to.equal(await expected("killed-fetching"));
    expect((await recordedRefs(projectId)).length).to.equal(2);
  });
});
