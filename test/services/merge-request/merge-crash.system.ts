import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { expect } from "chai";
import { handle } from "../../../src/commands/core/handle.ts";
import { mergeRequest } from "../../../src/commands/merge-request/merge-request.ts";
import { ObjectId } from "../../../src/events/core/ids.ts";
import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { findMergeRequest } from "../../../src/projections/merge-request/merge-request-query.ts";
import { findProjectById } from "../../../src/projections/project/project.ts";
import { refRecorder } from "../../../src/services/git/ref-recorder.ts";
import { finishMerge } from "../../../src/services/merge-request/finish-merge.ts";
import { merge } from "../../../src/services/merge-request/merge.ts";
import { mergeRequestMerge } from "../../../src/workers/merge-request/merge-record.ts";
import { secretKey, startTestApp } from "../../support/app/app.ts";
import { metadataFor } from "../../support/app/history.ts";
import { bundledArgs } from "../../support/compiled.ts";
import { git } from "../../support/git/git.ts";
import { idOf, type MergeWorld, mergeWorlds } from "../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob } = people;
const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };

let world: MergeWorld;
beforeEach(async () => {
  world = await newWorld();
  await world.open({ removeSourceBranch: true });
});

/** Merges at a service that kills itself around the append of an event. */
async function mergeDying(when: string, type: string): Promise<void> {
  const stores = [app.databaseUrl, app.eventStoreUrl, app.dataDir, secretKey];
  const args = [...bundledArgs("test/support/process/dying-service.ts"), when, ...stores, type];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const ended = once(child, "close");
  const url = `${line.toString().trim()}${world.at("/merge-request/1/merge")}`;
  const headers = { authorization: `token ${bob.token}`, "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: "{}" }).catch(() => undefined);
  const [, signal] = (await ended) as [number | null, string | null];
  expect([answer, signal]).to.deep.equal([undefined, "SIGKILL"]);
}

/** What the processes that live on do: account for pushes that were cut off, react to what is recorded. */
async function recover(): Promise<void> {
  await refRecorder(app.deps).heal(new Date(Date.now() + 60_000));
  for await (const event of app.deps.store.readStream(repositoryStream(world.project.id))) {
    await app.deps.visible(event.position);
    if (!mergeRequestMerge.types.has(event.type)) continue;
    for (const { data } of await mergeRequestMerge.react(event, deps)) {
      await finishMerge(deps, String(data["mergeRequestId"]), String(data["mergeId"]));
    }
  }
}

const status = async () => idOf((await world.get(anna, "/merge-request/1")).body["status"]);
const mainMoves = async () =>
  (await world.recordedChanges()).filter((line) => line.startsWith("BranchUpdated main"));
const headOf = async (branch: string) => (await world.refs()).get(`refs/heads/${branch}`);

describe("a service that dies while it merges", () => {
  for (const [when, type] of [
    ["before", "MergeRequestMergeBegun"],
    ["after", "MergeRequestMergeBegun"],
  ] as const) {
    it(`${when} ${type} leaves the branch where it was and the request open`, async () => {
      await mergeDying(when, type);
      await recover();
      expect(await headOf("main")).to.equal(world.head);
      expect(await status()).to.equal("OPENED");
    });
  }

  for (const [when, type] of [
    ["before", "BranchUpdated"],
    ["after", "BranchUpdated"],
    ["before", "MergeRequestMerged"],
    ["after", "MergeRequestMerged"],
  ] as const) {
    it(`${when} ${type} leaves the branch moved once, and the request merged by who lives on`, async () => {
      await mergeDying(when, type);
      const moved = await headOf("main");
      expect(moved).not.to.equal(world.head);
      await recover();
      expect(await status()).to.equal("MERGED");
      expect(await mainMoves()).to.deep.equal(["BranchUpdated main by bob"]);
      expect(await headOf("main")).to.equal(moved);
      expect(await headOf("feature")).to.equal(undefined);
      await recover();
      expect(await mainMoves()).to.have.length(1);
    });
  }

  it("before the branch is recorded is finished by the next who merges, without a second merge", async () => {
    await mergeDying("before", "BranchUpdated");
    const moved = await headOf("main");
    await app.deps.db("push_intent").update({ created_at: new Date(0) });
    const again = await world.post(anna, "/merge-request/1/merge");
    expect([409, 422], again.text).to.include(again.status);
    await recover();
    expect(await status()).to.equal("MERGED");
    expect(await headOf("main")).to.equal(moved);
    expect(await mainMoves()).to.have.length(1);
    await git(world.copy, "fetch", "--quiet", "origin");
    expect(await git(world.copy, "rev-list", "--count", "--merges", "origin/main")).to.equal("1");
  });

  it("with the branch moved and nothing recorded of it, is recognised by who repeats a rebase", async () => {
    const target = await world.push("main", { "main.txt": "m\n" });
    const source = await git(world.copy, "rev-parse", "feature");
    await git(world.copy, "checkout", "--quiet", "feature");
    await git(world.copy, "rebase", "--quiet", "main");
    const rebased = ObjectId.parse(await git(world.copy, "rev-parse", "HEAD"));
    const project = (await findProjectById(app.deps.db, world.project.id))!;
    const row = (await findMergeRequest(app.deps.db, project.id, 1))!;
    const metadata = metadataFor(randomUUID());
    const mergeId = deterministicId(metadata.commandId, "merge", 0);
    const begin = {
      type: "BeginMerge",
      mergeId,
      strategy: "REBASE",
      targetBranch: row.target_branch,
      targetBefore: ObjectId.parse(target),
      sourceCommit: ObjectId.parse(source),
      mergeCommit: rebased,
      removeSourceBranch: false,
      judged: { title: row.title, workInProgress: false, rules: null, approverIds: [] },
      projectId: project.id,
      by: bob.id,
      at: new Date(Date.now() - 60_000).toISOString(),
    } as const;
    const begun = { ...metadata, commandId: deterministicId(mergeId, "begin") };
    const order = { id: row.id, command: begin, metadata: begun };
    await app.deps.visible((await handle(app.deps.store, mergeRequest, order)).position);
    await git(world.copy, "push", "--quiet", "origin", `${rebased}:refs/heads/main`);
    const messages = { mergeCommitMessage: null, squashCommitMessage: null };
    const choice = { strategy: "REBASE", removeSourceBranch: false, ...messages } as const;
    const again = { mergeRequestId: row.id, project, role: "DEVELOPER", userId: bob.id } as const;
    await merge(app.deps, { ...again, metadata, choice });
    expect(await status()).to.equal("MERGED");
    expect(await headOf("main")).to.equal(rebased);
  });
});
