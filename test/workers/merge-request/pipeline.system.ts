import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { withNewestSource } from "../../../src/services/merge-request/source.ts";
import { startMergeRequestPipeline } from "../../../src/services/merge-request/start-pipeline.ts";
import { startedByPushMax } from "../../../src/workers/merge-request/pipeline.ts";
import { metadataFor } from "../../support/app/history.ts";
import { git } from "../../support/git/git.ts";
import { givenRequestPipelines, warnings } from "../../support/merge-request/request-pipelines.ts";

const { anna, bob, deps, given, eventsOf, work, rowOf, pushAs } = await givenRequestPipelines();

describe("the step that starts the pipeline of a merge request", () => {
  it("keeps the merge that it recorded, wherever the branches stand when it is repeated", async () => {
    const { world, ci } = await given();
    await world.open();
    const [opening] = await eventsOf(world, "LocalIdAssigned");
    await work(opening);
    const [first] = await ci.pipelines();
    const merge = async () => git(world.gitDir, "rev-parse", "refs/merge-requests/1/merge");
    expect(await merge()).to.equal(first!["commitId"]);
    await world.push("main", { "later.txt": "later\n" });
    await work(opening);
    expect(await merge()).to.equal(first!["commitId"]);
    await pushAs(world, bob, "later");
    await withNewestSource(deps, await rowOf(world));
    await work(opening);
    expect(await ci.pipelines()).to.have.length(1);
    expect((await ci.pipelines())[0]).to.include({ commitId: first!["commitId"] });
  });

  it("leaves the merge of a request where it is, also before the request shows it", async () => {
    const { world, ci } = await given();
    await world.open();
    const row = await rowOf(world);
    const merged = await world.post(anna, "/merge-request/1/merge", { squashCommit: true });
    expect(merged.status, merged.text).to.equal(200);
    const ref = "refs/merge-requests/1/merge";
    const commitId = await git(world.gitDir, "rev-parse", ref);
    const wanted = { userId: anna.id, metadata: metadataFor(randomUUID()) };
    await startMergeRequestPipeline(deps, row, wanted);
    expect(await git(world.gitDir, "rev-parse", ref)).to.equal(commitId);
    const [started] = await ci.pipelines();
    expect(started).to.include({ ref: "refs/merge-requests/1/head" });
  });

  it("runs on another result once a former one was pushed to the target", async () => {
    const { world } = await given();
    await world.open();
    const ref = "refs/merge-requests/1/merge";
    const start = async () => {
      const wanted = { userId: anna.id, metadata: metadataFor(randomUUID()) };
      await startMergeRequestPipeline(deps, await rowOf(world), wanted);
      return git(world.gitDir, "rev-parse", ref);
    };
    const former = await start();
    await git(world.copy, "fetch", "--quiet", "origin", ref);
    await git(world.copy, "push", "--quiet", "origin", "FETCH_HEAD:refs/heads/main");
    await pushAs(world, bob, "later");
    await withNewestSource(deps, await rowOf(world));
    expect(await start()).not.to.equal(former);
  });

  it("leaves out the newest of very many requests, and reports it", async () => {
    const { world, ci } = await given();
    const newest = startedByPushMax + 1;
    const targets = Array.from({ length: newest }, (_, at) => `into-${at + 1}`);
    const refs = targets.map((name) => `main:refs/heads/${name}`);
    await git(world.copy, "push", "--quiet", "origin", ...refs);
    for (const id of targets) await world.open({ targetBranch: { id } });
    await pushAs(world, bob, "all.txt");
    for (const localId of [startedByPushMax, newest]) {
      const row = await rowOf(world, localId);
      await withNewestSource(deps, row);
      const moved = (await eventsOf(world, "MergeRequestSourceMoved")).find(({ stream }) =>
        stream.endsWith(row.id),
      );
      await work(moved);
    }
    const [started, ...others] = await ci.pipelines();
    expect([started?.["ref"], others]).to.deep.equal([
      `refs/merge-requests/${startedByPushMax}/merge`,
      [],
    ]);
    expect(warnings).to.deep.include({
      projectId: world.project.id,
      mergeRequest: newest,
      sourceProjectId: world.project.id,
      branch: "feature",
      startedByPushMax,
    });
    const byHand = await world.post(bob, `/merge-request/${newest}/pipelines`);
    expect(byHand.status, byHand.text).to.equal(200);
  });
});
