import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";
import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { refRecorder } from "../../../src/git/ref-recorder.ts";
import { finishMerge } from "../../../src/workers/merge-request/finish-merge.ts";
import { mergeRequestMerge } from "../../../src/workers/merge-request/merge-record.ts";
import { secretKey, startTestApp } from "../../support/app.ts";
import { git } from "../../support/git.ts";
import { idOf, type MergeWorld, mergeWorlds } from "../../support/merge-world.ts";

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
  const args = ["--import", "tsx", "test/support/dying-service.ts", when, ...stores, type];
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
  (await world.told()).filter((line) => line.startsWith("BranchUpdated main"));
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
});
